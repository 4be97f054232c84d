// Converts arguments to parameters. For function.hpp only.
#pragma once

#include <any>
#include <array>
#include <boost/callable_traits/args.hpp>
#include <boost/callable_traits/return_type.hpp>
#include <boost/json.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "muster/context.hpp"
#include "muster/detail/json_types.hpp"
#include "muster/value.hpp"

namespace muster::detail {

template <class Arguments>
struct parameters_of;
template <class... A>
struct parameters_of<std::tuple<A...>> {
  using arguments = std::tuple<std::remove_cvref_t<A>...>;
  static constexpr bool takes_context = false;
};
template <class... A>
struct parameters_of<std::tuple<context&, A...>> : parameters_of<std::tuple<A...>> {
  static constexpr bool takes_context = true;
};

/// Result and parameter types of a function or function object, without a leading context.
template <class F>
struct signature : parameters_of<boost::callable_traits::args_t<F, std::tuple>> {
  using result = std::remove_cvref_t<boost::callable_traits::return_type_t<F>>;
};

/// One entry per parameter; an entry is empty if no argument was passed.
using argument_values = std::vector<std::optional<boost::json::value>>;

/// Parses the arguments and inserts per-worker values. Throws function_error of kind INPUT if the
/// arguments are not JSON or are too many, if a keyword is unknown or repeated, or if this worker
/// lacks a per-worker value.
argument_values argument_list(context const& c, value_view args,
                              std::vector<std::string> const& parameters, std::size_t count);

struct parameter {
  std::size_t position = 0;
  std::string_view name{};  // empty if unknown
};

// Throws function_error of kind INPUT, for example "argument 1 (batch)[2].size: expected an integer
// in range, got a string \"x\"".
[[noreturn]] void throw_missing(parameter p, std::size_t count);
[[noreturn]] void throw_wrong_type(parameter p, std::string_view expected,
                                   boost::json::value const& got);
[[noreturn]] void throw_misfit(parameter p, misfit const& m);
[[noreturn]] void throw_not_converted(parameter p, boost::json::value const& got,
                                      std::exception const& why);

template <class T>
struct is_shared : std::false_type {};
template <class T>
struct is_shared<std::shared_ptr<T>> : std::true_type {};

/// Returns the object that this worker stores for {"$per_worker":…}. Throws function_error of kind
/// INPUT if there is no such object.
std::any kept_object(context const& c, boost::json::value const& got, parameter p);
/// Stores the result of a builder function. Throws if the call does not build a per-worker value,
/// because objects cannot be sent.
void keep_object(context const& c, std::any object, value& result);
[[noreturn]] void throw_wrong_object(parameter p, boost::json::value const& got);

/// True for a shared_ptr and for structures that contain a shared_ptr.
template <class T>
struct holds_shared : is_shared<T> {};
template <class T, class A>
struct holds_shared<std::vector<T, A>> : holds_shared<T> {};
template <class T, std::size_t N>
struct holds_shared<std::array<T, N>> : holds_shared<T> {};
template <class T>
struct holds_shared<std::optional<T>> : holds_shared<T> {};
template <class T, class C, class A>
struct holds_shared<std::map<std::string, T, C, A>> : holds_shared<T> {};
template <class... T>
struct holds_shared<std::tuple<T...>> : std::disjunction<holds_shared<T>...> {};
template <class A, class B>
struct holds_shared<std::pair<A, B>> : std::disjunction<holds_shared<A>, holds_shared<B>> {};

template <class T>
T convert_json(boost::json::value const& v, parameter p) {
  try {
    return made_of<T>(v);
  } catch (std::exception const& e) {
    if (auto const m = misfit_of<T>(v)) throw_misfit(p, *m);
    throw_not_converted(p, v, e);
  }
}

template <class T>
T convert_value(context const& c, boost::json::value& v, parameter p);

/// Converts a structure that contains shared_ptrs, member by member. Errors refer to parameter `p`.
template <class T>
T convert_structure(context const& c, boost::json::value& v, parameter p) {
  if constexpr (is_optional<T>::value) {
    if (v.is_null()) return std::nullopt;
    return convert_value<typename T::value_type>(c, v, p);
  } else if constexpr (requires { typename T::mapped_type; }) {
    if (!v.is_object()) throw_wrong_type(p, expected_type<T>(), v);
    T all;
    for (auto& member : v.get_object())
      all.emplace(member.key(), convert_value<typename T::mapped_type>(c, member.value(), p));
    return all;
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    if (!v.is_array() || v.get_array().size() != std::tuple_size_v<T>)
      throw_wrong_type(p, "an array of " + std::to_string(std::tuple_size_v<T>), v);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return T{convert_value<std::tuple_element_t<I, T>>(c, v.get_array()[I], p)...};
    }
    (std::make_index_sequence<std::tuple_size_v<T>>());
  } else {
    if (!v.is_array()) throw_wrong_type(p, expected_type<T>(), v);
    T all;
    for (auto& element : v.get_array())
      all.push_back(convert_value<typename T::value_type>(c, element, p));
    return all;
  }
}

template <class T>
T convert_value(context const& c, boost::json::value& v, parameter p) {
  if constexpr (is_shared<T>::value) {
    auto object = kept_object(c, v, p);
    if (auto* typed = std::any_cast<T>(&object)) return std::move(*typed);
    throw_wrong_object(p, v);
  } else if constexpr (holds_shared<T>::value) {
    return convert_structure<T>(c, v, p);
  } else if constexpr (std::is_same_v<T, boost::json::value>) {
    return std::move(v);
  } else {
    return convert_json<T>(v, p);
  }
}

template <class T>
T convert_one(context const& c, argument_values& given, parameter p) {
  auto& v = given[p.position];
  if constexpr (is_optional<T>::value) {
    if (!v || v->is_null()) return std::nullopt;
    return convert_one<typename T::value_type>(c, given, p);
  } else {
    if (!v) throw_missing(p, given.size());
    return convert_value<T>(c, *v, p);
  }
}

/// Converts the arguments to the function's parameter types. `names` are the names of the first
/// parameters, for error messages.
template <class Tuple>
Tuple convert(context const& c, argument_values given, std::vector<std::string> const& names) {
  auto const at = [&names](std::size_t i) {
    return parameter{i, i < names.size() ? std::string_view(names[i]) : std::string_view()};
  };
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return Tuple{convert_one<std::tuple_element_t<I, Tuple>>(c, given, at(I))...};
  }
  (std::make_index_sequence<std::tuple_size_v<Tuple>>());
}

}  // namespace muster::detail
