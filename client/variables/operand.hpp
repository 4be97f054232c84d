// Arguments of a variable's methods, converted to the variable's dtype. An argument is an array of
// any alignment, or one number for all elements. For stored_variable.cpp.
#pragma once

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "muster/detail/array_view.hpp"
#include "muster/function_error.hpp"

namespace muster::detail {

[[noreturn]] inline void value_error(std::string const& what) {
  throw function_error(what, "ValueError");
}
[[noreturn]] inline void type_error(std::string const& what) {
  throw function_error(what, "TypeError");
}
[[noreturn]] inline void index_error(std::string const& what) {
  throw function_error(what, "IndexError");
}

/// Returns the number as Python prints it.
inline std::string shown(double n) {
  char text[32];
  auto const end = std::to_chars(text, text + sizeof text, n).ptr;
  std::string made(text, end);
  return made.find_first_not_of("-0123456789") == made.npos ? made + ".0" : made;
}

template <class N>
N load(char const* from, std::size_t i) {
  N n;
  std::memcpy(&n, from + i * sizeof(N), sizeof(N));
  return n;
}

/// Calls f with a null pointer to the dtype's C++ type. Returns false for unknown dtypes.
template <class F>
bool with_type(std::string_view dtype, F f) {
  auto const is = [&]<class N>(std::string_view name, N const* type) {
    if (dtype != name) return false;
    f(type);
    return true;
  };
  return is("float32", static_cast<float*>(nullptr)) ||
         is("float64", static_cast<double*>(nullptr)) ||
         is("int64", static_cast<std::int64_t*>(nullptr)) ||
         is("int32", static_cast<std::int32_t*>(nullptr)) ||
         is("int16", static_cast<std::int16_t*>(nullptr)) ||
         is("int8", static_cast<std::int8_t*>(nullptr)) ||
         is("uint64", static_cast<std::uint64_t*>(nullptr)) ||
         is("uint32", static_cast<std::uint32_t*>(nullptr)) ||
         is("uint16", static_cast<std::uint16_t*>(nullptr)) ||
         is("uint8", static_cast<std::uint8_t*>(nullptr)) ||
         is("bool", static_cast<std::uint8_t*>(nullptr));
}

/// Throws TypeError if the argument is not a single number.
inline double number(std::string const& field, array_view const& of) {
  double n = 0;
  bool const is = of.shape.empty() && with_type(of.dtype, [&]<class N>(N const*) {
                    n = static_cast<double>(load<N>(of.data.data(), 0));
                  });
  if (!is)
    type_error(field + ": " + std::string(of.dtype) + " array of shape " + shown(of.shape) +
               " is not a single number");
  return n;
}

/// Converts a row number or a count. Throws TypeError and ValueError.
inline std::int64_t integer(std::string const& field, array_view const& of) {
  auto const n = number(field, of);
  if (!(std::abs(n) < 9e15)) value_error(field + ": is out of range");
  return static_cast<std::int64_t>(n);
}

template <class T>
struct operand {
  char const* data = nullptr;
  bool single = false;
  T one{};

  T at(std::size_t i) const { return single ? one : load<T>(data, i); }
};

/// Throws TypeError if digits would be lost, and ValueError if the number is out of range.
template <class T>
T converted(array_view const& of, std::string_view own) {
  T made{};
  bool const is = with_type(of.dtype, [&]<class N>(N const*) {
    auto const n = load<N>(of.data.data(), 0);
    if constexpr (std::is_integral_v<T> && std::is_floating_point_v<N>) {
      type_error("dtype: the variable has " + std::string(own) + ", the argument has " +
                 std::string(of.dtype));
    } else {
      if constexpr (std::is_integral_v<T>) {
        auto const low = own == "bool" ? T{0} : std::numeric_limits<T>::min();
        auto const high = own == "bool" ? T{1} : std::numeric_limits<T>::max();
        if (std::cmp_less(n, low) || std::cmp_greater(n, high))
          value_error("value: " + std::to_string(n) + " is out of range for " + std::string(own) +
                      ", which is " + std::to_string(low) + " to " + std::to_string(high));
      }
      made = static_cast<T>(n);
    }
  });
  if (!is)
    type_error("dtype: the variable has " + std::string(own) + ", the argument has " +
               std::string(of.dtype));
  return made;
}

}  // namespace muster::detail
