// A handle of an array that is stored and updated on tasks.
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

/// Options of a variable.
struct variable_options {
  /// Name by which other programs find the variable, up to 256 bytes; can be empty.
  std::string name{};
  /// Task that stores the variable.
  std::string task = "ps:0";
  /// Tasks that store the shards, used in turn. If set, `task` is ignored.
  std::vector<std::string> tasks{};
  /// Determines the number of shards; one shard if unset.
  muster::partitioner partitioner{};
  /// Keep the variable after its coordinator has ended. Requires a name.
  bool detached = false;
  /// If no initial values are given, fill the variable with ones instead of zeros.
  bool ones = false;
};

/// Parameters of the Adam optimizer, with the defaults of Keras.
struct adam_options {
  double learning_rate = 0.001,  ///< step size
      beta1 = 0.9,               ///< decay rate of the first moment
      beta2 = 0.999,             ///< decay rate of the second moment
      epsilon = 1e-7;            ///< constant that prevents division by zero
};

/// A handle of an array that is stored on one task, or in shards on several tasks, and updated
/// there.
///
/// @code
/// muster::cluster_coordinator c({.server = "127.0.0.1:8476"});
/// auto w = c.make_variable<float>({.name = "w",.task = "ps:0"}, muster::shape{1000, 64});
/// std::vector<float> const gradient(64'000, 1.0f);
/// w.sgd(gradient, 0.1f);  // does not wait
/// muster::array<float> now = w.read().fetch();
/// c.schedule<void>("train", w);  // a handle can be an argument, at any depth
/// @endcode
///
/// Members return without waiting. Invalid arguments are reported immediately, with
/// std::invalid_argument or std::out_of_range. Each call is atomic on each shard. On shards above
/// 24 MiB, operations that can be split are split, and each piece is atomic. Copies refer to the
/// same variable. Members may be called from any thread. See docs/variables.md.
/// @tparam T  float, double, std::int32_t, std::int64_t or std::uint8_t. Optimizer steps require
///   float or double. std::uint8_t supports only assignment, read and gather.
template <class T>
class variable {
  static_assert(!detail::dtype_of<T>.empty(), "variables cannot have elements of this type");

 public:
  /// Element type.
  using value_type = T;
  /// Array elements in C order.
  using rows = std::span<T const>;
  /// Row numbers.
  using indices = std::span<std::int64_t const>;
  /// Result of an update; becomes ready when all shards have been updated.
  using updated = remote_value<void>;

  /// Constructs an empty handle. All members except valid() throw std::logic_error.
  variable() = default;
  /// Constructs a handle; used by the library.
  /// @param core  the variable
  /// @throws std::invalid_argument  the elements are not of type T
  explicit variable(std::shared_ptr<detail::variable_core const> core) : core_(std::move(core)) {
    if (core_->dtype() != detail::dtype_of<T>)
      throw std::invalid_argument("the variable '" + core_->name() + "' has dtype " +
                                  core_->dtype() + ", not " + std::string(detail::dtype_of<T>));
  }

  /// Returns false if the handle is empty.
  bool valid() const noexcept { return core_ != nullptr; }
  /// Returns the shape.
  muster::shape const& shape() const { return core().shape(); }
  /// Returns the name; empty if the variable has no name.
  std::string const& name() const { return core().name(); }
  /// Returns the task of each shard.
  std::vector<std::string> tasks() const {
    std::vector<std::string> all;
    for (auto const& s : core().shards()) all.push_back(s.task());
    return all;
  }

  /// Reads all rows, after all updates that were called earlier.
  remote_value<array<T>> read() const { return remote_value<array<T>>(core().read()); }
  /// Reads the rows from `begin` up to, but not including, `end`.
  /// @param begin  the first row
  /// @param end  the row after the last row to read
  remote_value<array<T>> read_rows(std::uint64_t begin, std::uint64_t end) const {
    return remote_value<array<T>>(core().read_rows(begin, end));
  }
  /// Reads the rows with the given numbers.
  /// @param which  row numbers, in the order of the result
  remote_value<array<T>> gather(indices which) const {
    return remote_value<array<T>>(core().gather(which));
  }

  /// Replaces all elements.
  /// @param all  elements that match the shape
  updated assign(rows all) const { return updated(core().update("assign", whole(all))); }
  /// Sets all elements to one number.
  /// @param all  the number
  updated assign(T all) const { return updated(core().update("assign", detail::scalar_view(all))); }
  /// Replaces consecutive rows.
  /// @param begin  the first row
  /// @param some  the new rows
  updated assign_rows(std::uint64_t begin, rows some) const {
    return updated(core().assign_rows(begin, detail::bytes_of(some)));
  }
  /// Adds an array elementwise.
  /// @param all  elements that match the shape
  updated assign_add(rows all) const { return updated(core().update("assign_add", whole(all))); }
  /// Adds a number to all elements.
  /// @param n  the number
  updated assign_add(T n) const {
    return updated(core().update("assign_add", detail::scalar_view(n)));
  }
  /// Subtracts an array elementwise.
  /// @param all  elements that match the shape
  updated assign_sub(rows all) const { return updated(core().update("assign_sub", whole(all))); }
  /// Subtracts a number from all elements.
  /// @param n  the number
  updated assign_sub(T n) const {
    return updated(core().update("assign_sub", detail::scalar_view(n)));
  }
  /// Adds to rows; the values of equal indices are summed.
  /// @param which  row numbers
  /// @param some  one row of values for each index
  updated scatter_add(indices which, rows some) const { return change("scatter_add", which, some); }
  /// Subtracts from rows; the values of equal indices are summed.
  /// @param which  row numbers
  /// @param some  one row of values for each index
  updated scatter_sub(indices which, rows some) const { return change("scatter_sub", which, some); }
  /// Replaces rows. If an index occurs several times, its last value is used.
  /// @param which  row numbers
  /// @param some  one row of values for each index
  updated scatter_update(indices which, rows some) const {
    return change("scatter_update", which, some);
  }

  /// Performs a step of stochastic gradient descent.
  /// @param gradient  elements that match the shape
  /// @param learning_rate  the step size
  updated sgd(rows gradient, double learning_rate) const requires std::is_floating_point_v<T> {
    return updated(core().update("sgd", whole(gradient), std::span(&learning_rate, 1)));
  }
  /// Performs a step of gradient descent with momentum. The momentum state is stored with the
  /// variable.
  /// @param gradient  elements that match the shape
  /// @param learning_rate  the step size
  /// @param momentum  the decay factor of earlier steps
  updated sgd(rows gradient, double learning_rate,
              double momentum) const requires std::is_floating_point_v<T> {
    double const numbers[] = {learning_rate, momentum};
    return updated(core().step("sgd", whole(gradient), numbers));
  }
  /// Performs a step of the Adam optimizer. The moments are stored with the variable.
  /// @param gradient  elements that match the shape
  /// @param o  the optimizer's parameters
  updated adam(rows gradient,
               adam_options const& o = {}) const requires std::is_floating_point_v<T> {
    double const numbers[] = {o.learning_rate, o.beta1, o.beta2, o.epsilon};
    return updated(core().step("adam", whole(gradient), numbers));
  }
  /// Performs a step of gradient descent on some rows, as for embeddings. Gradients of equal
  /// indices are summed first.
  /// @param which  row numbers
  /// @param some  one row of gradients for each index
  /// @param learning_rate  the step size
  updated sgd_rows(indices which, rows some,
                   double learning_rate) const requires std::is_floating_point_v<T> {
    return change("sgd_rows", which, some, std::span(&learning_rate, 1));
  }
  /// Performs a step of Adam on some rows. The moments of other rows do not change.
  /// @param which  row numbers
  /// @param some  one row of gradients for each index
  /// @param o  the optimizer's parameters
  updated adam_rows(indices which, rows some,
                    adam_options const& o = {}) const requires std::is_floating_point_v<T> {
    double const numbers[] = {o.learning_rate, o.beta1, o.beta2, o.epsilon};
    return change("adam_rows", which, some, numbers);
  }

  /// Deletes the variable. Unanswered calls fail with cancelled_error.
  void erase() const { core().erase(); }

  /// Writes the handle as JSON.
  /// @param to  receives the JSON
  /// @param from  the handle
  /// @throws std::logic_error  the handle is empty
  friend void tag_invoke(boost::json::value_from_tag, boost::json::value& to,
                         variable const& from) {
    from.core().write(to);
  }
  /// Reads a handle from JSON.
  /// @param from  the JSON
  /// @throws std::invalid_argument  the JSON is not a variable with elements of type T
  friend variable tag_invoke(boost::json::value_to_tag<variable>, boost::json::value const& from) {
    return variable(detail::variable_core::read(from));
  }

 private:
  detail::variable_core const& core() const {
    if (!core_) throw std::logic_error("the variable is empty");
    return *core_;
  }
  detail::array_view whole(rows all) const {
    std::uint64_t n = 1;
    for (auto const d : shape()) n *= d;
    if (all.size() != n)
      throw std::invalid_argument("shape: the variable has " + detail::shown(shape()) +
                                  ", the argument has " + std::to_string(all.size()) + " numbers");
    return detail::view_of(all, shape());
  }
  updated change(std::string_view method, indices which, rows some,
                 detail::variable_core::numbers more = {}) const {
    return updated(core().change_rows(method, which, detail::bytes_of(some), more));
  }

  std::shared_ptr<detail::variable_core const> core_;
};

}  // namespace muster
