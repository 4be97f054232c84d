// Types that can be converted to and from JSON, and error messages for values that do not match a
// type.
#pragma once

#include <array>
#include <boost/describe.hpp>
#include <boost/json.hpp>
#include <boost/mp11.hpp>
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

template <class T>
using members_of = boost::describe::describe_members<T, boost::describe::mod_public |
                                                            boost::describe::mod_inherited>;

template <class T>
std::string expected_type() {
  namespace json = boost::json;
  if constexpr (std::is_same_v<T, bool>) {
    return "a boolean";
  } else if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T>) {
    return "a non-negative integer in range";
  } else if constexpr (std::is_integral_v<T>) {
    return "an integer in range";
  } else if constexpr (std::is_floating_point_v<T>) {
    return "a number";
  } else if constexpr (json::is_string_like<T>::value) {
    return "a string";
  } else if constexpr (json::is_described_enum<T>::value) {
    std::string names;
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>(
        [&names](auto d) { names += (names.empty() ? "" : ", ") + std::string(d.name); });
    return "one of the strings " + names;
  } else if constexpr (json::is_described_class<T>::value) {
    std::string names;
    boost::mp11::mp_for_each<members_of<T>>(
        [&names](auto d) { names += (names.empty() ? "" : ", ") + std::string(d.name); });
    return "an object with the members " + names;
  } else if constexpr (json::is_map_like<T>::value || std::is_same_v<T, json::object>) {
    return "an object";
  } else if constexpr (json::is_sequence_like<T>::value || std::is_same_v<T, json::array>) {
    return "an array";
  } else if constexpr (json::is_tuple_like<T>::value) {
    return "an array of " + std::to_string(std::tuple_size_v<T>);
  } else {
    return "a value of another type";
  }
}

/// True if Boost.JSON can create a T. A standard library structure qualifies only if its member
/// types do.
template <class T>
struct can_be_made : boost::json::has_value_to<T> {};
/// True if Boost.JSON can convert a T to JSON. A standard library structure qualifies only if its
/// member types do.
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

/// Converts an argument or output. Throws the errors of Boost.JSON and of the type's own
/// tag_invoke.
template <class T>
T made_of(boost::json::value const& v) {
  if constexpr (can_be_made<T>::value)
    return boost::json::value_to<T>(v);
  else
    static_assert(can_be_made<T>::value,
                  "an argument or result of a Muster function has a type that cannot be read from "
                  "JSON: describe it with BOOST_DESCRIBE_STRUCT, or give it a tag_invoke with "
                  "boost::json::value_to_tag; see 'Types of your own' in docs/cpp.md");
}

template <class T>
boost::json::value written(T&& v) {
  if constexpr (can_be_written<std::remove_cvref_t<T>>::value)
    return boost::json::value_from(std::forward<T>(v));
  else
    static_assert(can_be_written<std::remove_cvref_t<T>>::value,
                  "an argument or result of a Muster function has a type that cannot be written as "
                  "JSON: describe it with BOOST_DESCRIBE_STRUCT, or give it a tag_invoke with "
                  "boost::json::value_from_tag; see 'Types of your own' in docs/cpp.md");
}

/// The first part of a JSON value that does not match a type.
struct misfit {
  std::string path;  // for example "[2].size"; empty for the value itself
  std::string expected;
  boost::json::value got;
};

/// Returns the first part of `v` that does not match T. Returns nothing if all parts match, or if
/// only the type's own conversion can detect the mismatch.
template <class T>
std::optional<misfit> misfit_of(boost::json::value const& v, std::string const& path = {}) {
  namespace json = boost::json;
  std::optional<misfit> found;
  misfit const whole{path, {}, v};
  auto const wrong = [&whole](std::string expected) {
    auto m = whole;
    m.expected = std::move(expected);
    return m;
  };
  if constexpr (is_optional<T>::value) {
    return v.is_null() ? found : misfit_of<typename T::value_type>(v, path);
  } else if constexpr (json::is_described_class<T>::value) {
    auto const* object = v.if_object();
    if (!object) return wrong(expected_type<T>());
    std::size_t known = 0;
    boost::mp11::mp_for_each<members_of<T>>([&](auto d) {
      using member = std::remove_cvref_t<decltype(std::declval<T&>().*d.pointer)>;
      auto const* one = object->if_contains(d.name);
      known += one != nullptr;
      if (found) return;
      if (one)
        found = misfit_of<member>(*one, path + "." + d.name);
      else if (!is_optional<member>::value)
        found = wrong(expected_type<T>() + "; '" + d.name + "' is missing");
    });
    if (!found && known < object->size())
      return wrong(expected_type<T>() + " and no other members");
    return found;
  } else if constexpr (std::is_same_v<T, json::value>) {
    return found;
  } else if constexpr (json::is_string_like<T>::value || json::is_described_enum<T>::value ||
                       std::is_arithmetic_v<T>) {
    auto const made = json::try_value_to<T>(v);
    return made ? found : wrong(expected_type<T>());
  } else if constexpr (requires { typename T::mapped_type; }) {
    auto const* object = v.if_object();
    if (!object) return wrong(expected_type<T>());
    for (auto const& member : *object) {
      auto const below = path + "." + std::string(member.key());
      if (!found) found = misfit_of<typename T::mapped_type>(member.value(), below);
    }
    return found;
  } else if constexpr (json::is_tuple_like<T>::value) {
    auto const* array = v.if_array();
    if (!array || array->size() != std::tuple_size_v<T>) return wrong(expected_type<T>());
    boost::mp11::mp_for_each<boost::mp11::mp_iota_c<std::tuple_size_v<T>>>([&](auto i) {
      auto const below = path + "[" + std::to_string(i) + "]";
      if (!found) found = misfit_of<std::tuple_element_t<i, T>>((*array)[i], below);
    });
    return found;
  } else if constexpr (json::is_sequence_like<T>::value || std::is_same_v<T, json::array>) {
    auto const* array = v.if_array();
    if (!array) return wrong(expected_type<T>());
    for (std::size_t i = 0; i < array->size() && !found; ++i)
      found = misfit_of<typename T::value_type>((*array)[i], path + "[" + std::to_string(i) + "]");
    return found;
  } else {
    return found;
  }
}

/// An error whose message is plain text. A message of Boost.System would contain a header path.
class wrong_output : public boost::system::system_error {
 public:
  wrong_output(boost::system::error_code const& code, std::string message)
      : system_error(code), message_(std::move(message)) {}
  char const* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

/// Converts a function's output to T. Throws boost::system::system_error, whose message names the
/// function and the part that does not match, or the errors of the type's own tag_invoke.
template <class T>
T output_of(std::string_view function, boost::json::value const& v) {
  try {
    return made_of<T>(v);
  } catch (boost::system::system_error const& e) {
    auto const m = misfit_of<T>(v);
    auto const shown = boost::json::serialize(m ? m->got : v).substr(0, 80);
    auto const where = m && !m->path.empty() ? " at " + m->path : std::string();
    throw wrong_output(e.code(), "the output of '" + std::string(function) + "' is not " +
                                     (m ? m->expected : e.code().message()) + where + ": " + shown);
  }
}

}  // namespace muster::detail
