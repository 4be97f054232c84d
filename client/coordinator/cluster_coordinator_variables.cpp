#include <stdexcept>

#include "base/utf8.hpp"
#include "client/coordinator/coordinator_session.hpp"
#include "client/variables/variable_names.hpp"
#include "muster/variable.hpp"

namespace muster {
namespace {

using detail::array_view;

struct initial {
  std::string_view dtype;
  shape const& of;
  std::string_view fill;     // "zeros" or "ones"
  array_view const* values;  // initial values; if null, `fill` is used

  std::uint64_t row_bytes() const {
    std::uint64_t n = detail::item_bytes(dtype);
    for (std::size_t i = 1; i < of.size(); ++i)
      if (__builtin_mul_overflow(n, of[i], &n)) return ~std::uint64_t{0};
    return n;
  }
  shape of_rows(std::uint64_t count) const {
    auto made = of;
    if (!made.empty()) made[0] = count;
    return made;
  }
  std::string_view rows(std::uint64_t low, std::uint64_t high) const {
    if (!values) return {};
    if (of.empty()) return values->data;
    return values->data.substr(low * row_bytes(), (high - low) * row_bytes());
  }
  std::string arguments(std::uint64_t low, std::uint64_t high) const {
    auto const part = of_rows(high - low);
    if (values && rows(low, high).size() <= detail::whole_bytes_max)
      return detail::encode(std::vector{array_view{dtype, part, rows(low, high)}});
    std::vector<std::int64_t> const sizes(part.begin(), part.end());
    return detail::encode(std::vector{detail::view_of(std::span(sizes), {sizes.size()}),
                                      detail::text_view(dtype), detail::text_view(fill)});
  }
};

}  // namespace

std::shared_ptr<detail::variable_core const> cluster_coordinator::make_variable_core(
    variable_options const& o, std::string_view dtype, shape const& of, array_view const* values) {
  refuse_to_wait_for_itself();
  if (of.size() > detail::dimensions_max)
    throw std::invalid_argument(detail::shown(of) + " has more than " +
                                std::to_string(detail::dimensions_max) + " dimensions");
  initial const begin{dtype, of, o.ones ? "ones" : "zeros", values};
  if (begin.row_bytes() > detail::row_bytes_max)
    throw std::invalid_argument("a row of " + detail::shown(of) + " " + std::string(dtype) +
                                " has more than " + std::to_string(detail::row_bytes_max) +
                                " bytes; use more, shorter rows");
  auto const bounds = detail::bounds_of(o.partitioner, of, detail::item_bytes(dtype));
  auto const tasks = o.tasks.empty() ? std::vector{o.task} : o.tasks;
  auto const make_one = [&](std::string const& name, std::string const& task,
                            std::string_view class_name, std::string args) {
    v1::NewObject what;
    detail::set_task("variable_options.task", task, what);
    what.set_name(to_utf8(name));
    what.set_class_name(std::string(class_name));
    what.set_detached(o.detached);
    what.set_concurrency(1);
    what.set_function(std::string(detail::variable_function));
    what.set_args(std::move(args));
    what.set_encoding(v1::BYTES);
    return session_->objects_->create(std::move(what));
  };
  std::vector<remote_object> shards;
  remote_object index;
  try {
    auto const count = bounds.size() - 1;
    for (std::size_t i = 0; i < count; ++i) {
      auto const name =
          count == 1 || o.name.empty() ? o.name : o.name + "/part_" + std::to_string(i);
      shards.push_back(make_one(name, tasks[i % tasks.size()], detail::variable_class_name,
                                begin.arguments(bounds[i], bounds[i + 1])));
      auto const rows = begin.rows(bounds[i], bounds[i + 1]);
      if (rows.size() <= detail::whole_bytes_max) continue;
      auto const n = bounds[i + 1] - bounds[i];
      detail::variable_core const shard({shards.back()}, {0, n}, begin.of_rows(n),
                                        std::string(dtype), name);
      shard.assign_rows(0, rows)->get(
          detail::for_ever);  // waits, because otherwise its errors would be lost
    }
    if (count > 1 &&
        !o.name.empty()) {  // created last, so that a program that finds the index finds all shards
      std::vector<std::int64_t> const starts(bounds.begin(), bounds.end());
      index = make_one(
          o.name, tasks[0], detail::sharded_class_name,
          detail::encode(std::vector{detail::view_of(std::span(starts), {starts.size()})}));
    }
  } catch (...) {
    for (auto const& s : shards) s.erase();
    throw;
  }
  auto made = std::make_shared<detail::variable_core const>(std::move(shards), bounds, of,
                                                            std::string(dtype), o.name, index);
  session_->known_.add(made);
  return made;
}

std::shared_ptr<detail::variable_core const> cluster_coordinator::find_variable_core(
    std::string const& name) {
  auto const found = get_object(name);
  std::vector<remote_object> shards{found};
  remote_object by;
  if (found.class_name() == detail::sharded_class_name) {
    auto const index = detail::variable_core::of({found}, name, {});
    shards.clear();
    for (std::uint64_t i = 0; i + 1 < index->shape().at(0); ++i)
      shards.push_back(get_object(name + "/part_" + std::to_string(i)));
    by = found;
  } else if (found.class_name() != detail::variable_class_name) {
    throw std::invalid_argument("'" + name + "' is a " + found.class_name() +
                                ", not a variable; use get_object");
  }
  auto made = detail::variable_core::of(std::move(shards), name, by);
  session_->known_.add(made);
  return made;
}

}  // namespace muster
