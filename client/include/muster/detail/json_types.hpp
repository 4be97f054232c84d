// Which types JSON can become and be made of, and what is said where a value does not fit.
#pragma once

#include <array>
#include <boost/json.hpp>
#include <boost/system/system_error.hpp>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace muster::detail {

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};

/// What a JSON value must be to become a T, in words.
template <class T>
std::string_view expected_type() {
  namespace json = boost::json;
  if constexpr (std::is_same_v<T, bool>)
    return "a boolean";
  else if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T>)
    return "an integer, not negative and in range";
  else if constexpr (std::is_integral_v<T>)
    return "an integer in range";
  else if constexpr (std::is_floating_point_v<T>)
    return "a number";
  else if constexpr (json::is_string_like<T>::value)
    return "a string";
  else if constexpr (json::is_map_like<T>::value || std::is_same_v<T, json::object>)
    return "an object";
  else if constexpr (json::is_sequence_like<T>::value || std::is_same_v<T, json::array>)
    return "an array";
  else if constexpr (json::is_tuple_like<T>::value)
    return "an array of fixed length";
  else
    return "another shape";
}

/// Whether Boost.JSON can make a T; of the standard's structures, their members as well.
template <class T>
struct can_be_made : boost::json::has_value_to<T> {};
/// Whether it can write one.
template <class T>
struct can_be_written : boost::json::has_value_from<T> {};

template <class T, class A>
struct can_be_made<std::vector<T, A>> : can_be_made<T> {};
template <class T, class A>
struct can_be_written<std::vector<T, A>> : can_be_written<T> {};
template <class T, std::size_t N>
struct can_be_made<std::array<T, N>> : can_be_made<T> {};
template <class T, std::size_t N>
struct can_be_written<std::array<T, N>> : can_be_written<T> {};
template <class T>
struct can_be_made<std::optional<T>> : can_be_made<T> {};
template <class T>
struct can_be_written<std::optional<T>> : can_be_written<T> {};
template <class T, class C, class A>
struct can_be_made<std::map<std::string, T, C, A>> : can_be_made<T> {};
template <class T, class C, class A>
struct can_be_written<std::map<std::string, T, C, A>> : can_be_written<T> {};
template <class T, class H, class E, class A>
struct can_be_made<std::unordered_map<std::string, T, H, E, A>> : can_be_made<T> {};
template <class T, class H, class E, class A>
struct can_be_written<std::unordered_map<std::string, T, H, E, A>> : can_be_written<T> {};
template <class... T>
struct can_be_made<std::tuple<T...>> : std::conjunction<can_be_made<T>...> {};
template <class... T>
struct can_be_written<std::tuple<T...>> : std::conjunction<can_be_written<T>...> {};
template <class A, class B>
struct can_be_made<std::pair<A, B>> : std::conjunction<can_be_made<A>, can_be_made<B>> {};
template <class A, class B>
struct can_be_written<std::pair<A, B>> : std::conjunction<can_be_written<A>, can_be_written<B>> {};

/// A parameter or an output. Errors: those of Boost.JSON, and of a type's own tag_invoke.
template <class T>
T made_of(boost::json::value const& v) {
  if constexpr (can_be_made<T>::value)
    return boost::json::value_to<T>(v);
  else
    static_assert(
        can_be_made<T>::value,
        "a function of muster takes or gives a type that cannot be made of JSON: describe "
        "it with BOOST_DESCRIBE_STRUCT, or give it a tag_invoke with "
        "boost::json::value_to_tag; see 'Types of your own' in docs/cpp.md");
}

/// An argument or a result.
template <class T>
boost::json::value written(T&& v) {
  if constexpr (can_be_written<std::remove_cvref_t<T>>::value)
    return boost::json::value_from(std::forward<T>(v));
  else
    static_assert(can_be_written<std::remove_cvref_t<T>>::value,
                  "a function of muster takes or gives a type that cannot be written as JSON: "
                  "describe it with BOOST_DESCRIBE_STRUCT, or give it a tag_invoke with "
                  "boost::json::value_from_tag; see 'Types of your own' in docs/cpp.md");
}

/// What the function has given, as the T that was asked for. Errors: boost::system::system_error
/// that names the function, and what its own tag_invoke throws.
template <class T>
T output_of(std::string_view function, boost::json::value const& v) {
  try {
    return made_of<T>(v);
  } catch (boost::system::system_error const& e) {
    auto shown = boost::json::serialize(v).substr(0, 80);
    throw boost::system::system_error(e.code(), "the output of '" + std::string(function) +
                                                    "' is not " + std::string(expected_type<T>()) +
                                                    ": " + shown);
  }
}

}  // namespace muster::detail
