#include "client/variables/stored_variable.hpp"

#include <stdexcept>

#include "client/variables/stored.hpp"

namespace muster::detail {
namespace {

/// Throws TypeError for an unknown dtype.
template <class F>
std::shared_ptr<variable_base> make_of(std::string_view dtype, F f) {
  if (dtype == "float32") return f(static_cast<float*>(nullptr));
  if (dtype == "float64") return f(static_cast<double*>(nullptr));
  if (dtype == "int32") return f(static_cast<std::int32_t*>(nullptr));
  if (dtype == "int64") return f(static_cast<std::int64_t*>(nullptr));
  if (dtype == "uint8" || dtype == "bool") return f(static_cast<std::uint8_t*>(nullptr));
  type_error("a variable cannot have dtype " + std::string(dtype) +
             "; supported dtypes are float32, float64, int32, int64, uint8, bool");
}

std::shared_ptr<variable_base> make(arguments const& a) {
  if (a.size() == 3 && a[1].dtype == "utf8" && a[2].dtype == "utf8") {
    auto const fill = a[2].data;
    if (fill != "zeros" && fill != "ones")
      value_error("unknown initializer '" + std::string(fill) + "'; use zeros or ones");
    detail::shape of;
    bool const is = a[0].shape.size() == 1 && with_type(a[0].dtype, [&]<class N>(N const*) {
                      for (std::size_t i = 0; i < a[0].data.size() / sizeof(N); ++i)
                        of.push_back(static_cast<std::uint64_t>(load<N>(a[0].data.data(), i)));
                    });
    if (!is)
      type_error("shape: " + std::string(a[0].dtype) + " array of shape " + shown(a[0].shape) +
                 " is not a list of numbers");
    auto const dtype = a[1].data;
    return make_of(dtype, [&]<class T>(T const*) -> std::shared_ptr<variable_base> {
      if (count_of(of) > bytes_max / sizeof(T))
        value_error("shape: " + shown(of) + " exceeds the maximum size of a variable");
      return std::make_shared<stored<T>>(std::string(dtype), of, T(fill == "ones"));
    });
  }
  if (a.size() != 1)
    type_error(
        "a variable must be created from an array, or from a shape, a dtype and an initializer");
  return make_of(a[0].dtype, [&]<class T>(T const*) -> std::shared_ptr<variable_base> {
    return std::make_shared<stored<T>>(a[0]);
  });
}

arguments decoded(value_view args) {
  try {
    return decode(args.bytes);
  } catch (std::invalid_argument const& e) {
    value_error(e.what());
  }
}

/// `f` receives the variable and the arguments, and returns nothing, a count, or arrays.
template <class F>
class_entry::method method(std::size_t least, std::size_t most, F f) {
  return [=](void* object, context&, value_view args, value& result) {
    auto const a = decoded(args);
    if (a.size() < least || a.size() > most)
      type_error(std::to_string(a.size()) + " arguments given, but " + std::to_string(least) +
                 " are required");
    auto& of = *static_cast<variable_base*>(object);
    using found = decltype(f(of, a));
    if constexpr (std::is_void_v<found>) {
      f(of, a);
      result = {"null", encoding::json};
    } else if constexpr (std::is_integral_v<found>) {
      result = {std::to_string(f(of, a)), encoding::json};
    } else {
      result = {f(of, a), encoding::bytes};
    }
  };
}

class_entry variable_class() {
  using v = variable_base;
  using args = arguments const&;
  constexpr std::size_t any = 1000;
  class_entry c;
  c.name = "muster.variable";
  c.takes_arrays = true;
  c.make = [](context&, value_view a) -> std::shared_ptr<void> { return make(decoded(a)); };
  c.methods = {
      {"read", method(0, 0, [](v& o, args) { return o.read(); })},
      {"read_rows", method(2, 2, [](v& o, args a) { return o.read_rows(a); })},
      {"info", method(0, 0, [](v& o, args) { return o.info(); })},
      {"assign", method(1, 1, [](v& o, args a) { o.assign(a); })},
      {"assign_add", method(1, 1, [](v& o, args a) { o.add(a, false); })},
      {"assign_sub", method(1, 1, [](v& o, args a) { o.add(a, true); })},
      {"assign_rows", method(2, 2, [](v& o, args a) { o.assign_rows(a); })},
      {"gather", method(1, 1, [](v& o, args a) { return o.gather(a); })},
      {"scatter_add", method(2, 2, [](v& o, args a) { o.change_rows(a, v::scatter::add); })},
      {"scatter_sub", method(2, 2, [](v& o, args a) { o.change_rows(a, v::scatter::subtract); })},
      {"scatter_update", method(2, 2, [](v& o, args a) { o.change_rows(a, v::scatter::update); })},
      {"sgd", method(2, 3, [](v& o, args a) { o.sgd(a); })},
      {"sgd_rows", method(3, 3, [](v& o, args a) { o.sgd_rows(a); })},
      {"adam", method(5, 5, [](v& o, args a) { o.adam(a, false); })},
      {"adam_rows", method(6, 6, [](v& o, args a) { o.adam(a, true); })},
      {"save", method(0, 0, [](v& o, args) { return o.save(); })},
      {"load", method(2, any, [](v& o, args a) { o.load(a); })},
      {"begin_cut", method(0, 0, [](v& o, args) { return o.begin_cut(); })},
      {"cut_rows", method(3, 3, [](v& o, args a) { return o.cut_rows(a); })},
      {"end_cut", method(1, 1, [](v& o, args a) { o.end_cut(a); })},
      {"load_rows", method(3, any, [](v& o, args a) { o.load_rows(a); })},
  };
  return c;
}

}  // namespace

class_entry const* built_in_class(std::string_view name) {
  static class_entry const variable = variable_class();
  return name == variable.name ? &variable : nullptr;
}

}  // namespace muster::detail
