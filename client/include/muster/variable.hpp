// An array on a task, whole or in shards, that many read and update where it is.
//
//   auto w = c.make_variable<float>({.name = "w", .task = "ps:0"}, muster::shape{1000, 64});
//   w.sgd(gradient, 0.1f);                        // a span of 64,000 numbers; no wait
//   muster::array<float> now = w.read().fetch();
//   c.schedule<void>("train", w, batch);          // a handle is an argument, at any depth
//
// Calls return at once; what is wrong with them is thrown where they are made. Each is atomic on
// each shard. Of more than 24 MiB a shard, what can go in pieces does, each atomic. Copies are the
// same variable. Any thread. See docs/variables.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "muster/array.hpp"
#include "muster/detail/variable_core.hpp"
#include "muster/partitioner.hpp"
#include "muster/remote_value.hpp"

namespace muster {

struct variable_options {
  std::string name{};  // by which others find it; at most 256 bytes, or empty
  std::string task = "ps:0";
  /// Of shards, in turns, instead of one task.
  std::vector<std::string> tasks{};
  muster::partitioner partitioner{};
  /// It outlives its coordinator, and needs a name.
  bool detached = false;
  bool ones = false;  // of one that is made of a shape; else zeros
};

/// Keras' defaults.
struct adam_options {
  double learning_rate = 0.001, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-7;
};

/// T: float, double, std::int32_t, std::int64_t; std::uint8_t, which is assigned, read and gathered
/// alone. Steps of optimizers are of float and double.
template <class T>
class variable {
  static_assert(!detail::dtype_of<T>.empty(), "variables have no such elements");

 public:
  using value_type = T;
  using rows = std::span<T const>;
  using indices = std::span<std::int64_t const>;
  using updated = remote_value<void>;

  /// Of nothing: all members but valid() throw std::logic_error.
  variable() = default;
  /// Errors: std::invalid_argument (of another dtype).
  explicit variable(std::shared_ptr<detail::variable_core const> core) : core_(std::move(core)) {
    if (core_->dtype() != detail::dtype_of<T>)
      throw std::invalid_argument("the variable '" + core_->name() + "' is of " + core_->dtype() +
                                  ", not of " + std::string(detail::dtype_of<T>));
  }

  /// False of a handle of nothing.
  bool valid() const noexcept { return core_ != nullptr; }
  muster::shape const& shape() const { return core().shape(); }
  std::string const& name() const { return core().name(); }
  /// Of its shards.
  std::vector<std::string> tasks() const {
    std::vector<std::string> all;
    for (auto const& s : core().shards()) all.push_back(s.task());
    return all;
  }

  /// All rows, as they are when the calls before it are done.
  remote_value<array<T>> read() const { return remote_value<array<T>>(core().read()); }
  remote_value<array<T>> read_rows(std::uint64_t begin, std::uint64_t end) const {
    return remote_value<array<T>>(core().read_rows(begin, end));
  }
  remote_value<array<T>> gather(indices which) const {
    return remote_value<array<T>>(core().gather(which));
  }

  updated assign(rows all) const { return updated(core().update("assign", whole(all))); }
  updated assign(T all) const { return updated(core().update("assign", detail::scalar_view(all))); }
  updated assign_rows(std::uint64_t begin, rows some) const {
    return updated(core().assign_rows(begin, detail::bytes_of(some)));
  }
  updated assign_add(rows all) const { return updated(core().update("assign_add", whole(all))); }
  updated assign_add(T n) const {
    return updated(core().update("assign_add", detail::scalar_view(n)));
  }
  updated assign_sub(rows all) const { return updated(core().update("assign_sub", whole(all))); }
  updated assign_sub(T n) const {
    return updated(core().update("assign_sub", detail::scalar_view(n)));
  }
  /// Rows of equal indices add up.
  updated scatter_add(indices which, rows some) const { return change("scatter_add", which, some); }
  updated scatter_sub(indices which, rows some) const { return change("scatter_sub", which, some); }
  /// Of equal indices the last one stays.
  updated scatter_update(indices which, rows some) const {
    return change("scatter_update", which, some);
  }

  updated sgd(rows gradient, double learning_rate) const requires std::is_floating_point_v<T> {
    return updated(core().update("sgd", whole(gradient), std::span(&learning_rate, 1)));
  }
  /// The slot is beside the variable, on its task.
  updated sgd(rows gradient, double learning_rate,
              double momentum) const requires std::is_floating_point_v<T> {
    double const numbers[] = {learning_rate, momentum};
    return updated(core().step("sgd", whole(gradient), numbers));
  }
  updated adam(rows gradient,
               adam_options const& o = {}) const requires std::is_floating_point_v<T> {
    double const numbers[] = {o.learning_rate, o.beta1, o.beta2, o.epsilon};
    return updated(core().step("adam", whole(gradient), numbers));
  }
  /// Of these rows alone, as of embeddings; those of equal indices are summed first.
  updated sgd_rows(indices which, rows some,
                   double learning_rate) const requires std::is_floating_point_v<T> {
    return change("sgd_rows", which, some, std::span(&learning_rate, 1));
  }
  /// Moments of other rows stay as they are.
  updated adam_rows(indices which, rows some,
                    adam_options const& o = {}) const requires std::is_floating_point_v<T> {
    double const numbers[] = {o.learning_rate, o.beta1, o.beta2, o.epsilon};
    return change("adam_rows", which, some, numbers);
  }

  /// Calls that are not answered fail with cancelled_error.
  void erase() const { core().erase(); }

  /// A handle among arguments. Errors: std::logic_error (of nothing); std::invalid_argument (the
  /// JSON is no variable of T).
  friend void tag_invoke(boost::json::value_from_tag, boost::json::value& to,
                         variable const& from) {
    from.core().write(to);
  }
  friend variable tag_invoke(boost::json::value_to_tag<variable>, boost::json::value const& from) {
    return variable(detail::variable_core::read(from));
  }

 private:
  detail::variable_core const& core() const {
    if (!core_) throw std::logic_error("a variable of nothing");
    return *core_;
  }
  detail::array_view whole(rows all) const {
    std::uint64_t n = 1;
    for (auto const d : shape()) n *= d;
    if (all.size() != n)
      throw std::invalid_argument("shape: the variable has " + detail::shown(shape()) +
                                  ", what is given has " + std::to_string(all.size()) + " numbers");
    return detail::view_of(all, shape());
  }
  updated change(std::string_view method, indices which, rows some,
                 detail::variable_core::numbers more = {}) const {
    return updated(core().change_rows(method, which, detail::bytes_of(some), more));
  }

  std::shared_ptr<detail::variable_core const> core_;
};

}  // namespace muster
