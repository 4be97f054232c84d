// Keyword arguments of calls.
#pragma once

#include <boost/json.hpp>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "muster/detail/json_types.hpp"

namespace muster {

/// An argument that is passed by parameter name, after all positional arguments:
///
/// @code
/// c.schedule<double>("step", batch, muster::keyword("rate", 0.1));
/// @endcode
///
/// The worker must have registered the parameter names. Unknown names, and parameters that are also
/// passed by position, cause an input_error.
template <class T>
struct keyword {
  /// Constructs a keyword argument.
  /// @param n  parameter name
  /// @param v  the argument
  keyword(std::string n, T v) : name(std::move(n)), value(std::move(v)) {}

  /// Parameter name.
  std::string name;
  /// The argument.
  T value;
};

namespace detail {

template <class T>
struct is_keyword : std::false_type {};
template <class T>
struct is_keyword<keyword<T>> : std::true_type {};
template <class... Args>
inline constexpr bool any_keyword = (is_keyword<Args>::value || ...);

template <class... Args>
constexpr bool keywords_come_last() {
  bool named = false, right = true;
  ((right = right && (!named || is_keyword<Args>::value), named = named || is_keyword<Args>::value),
   ...);
  return right;
}

[[noreturn]] inline void throw_named_twice(std::string const& name) {
  throw std::invalid_argument("argument '" + name + "' is given twice");
}

/// Returns the encoded arguments: [positional…], or {"args":[…],"kwargs":{…}} if there are keyword
/// arguments.
template <class... Args>
boost::json::value json_arguments(Args const&... args) {
  static_assert(keywords_come_last<Args...>(), "named arguments must follow positional arguments");
  boost::json::array by_position;
  boost::json::object by_name;
  [[maybe_unused]] auto const add = [&]<class T>(T const& v) {
    if constexpr (!is_keyword<T>::value)
      by_position.push_back(written(v));
    else if (!by_name.emplace(v.name, written(v.value)).second)
      throw_named_twice(v.name);
  };
  (add(args), ...);
  if constexpr (!any_keyword<Args...>) return by_position;
  boost::json::object all;
  all.emplace("args", std::move(by_position));
  all.emplace("kwargs", std::move(by_name));
  return all;
}

}  // namespace detail
}  // namespace muster
