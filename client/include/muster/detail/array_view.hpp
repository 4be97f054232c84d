// An array that lies somewhere, as the wire of variables has it. For variable.hpp only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace muster::detail {

using shape = std::vector<std::uint64_t>;

/// numpy's names of dtypes; "utf8" is text, "none" nothing.
struct array_view {
  std::string_view dtype;
  detail::shape shape{};
  std::string_view data{};  // in C order, little endian, of any alignment
};

inline constexpr std::size_t dimensions_max = 8;

template <class T>
inline constexpr std::string_view dtype_of = "";
template <>
inline constexpr std::string_view dtype_of<float> = "float32";
template <>
inline constexpr std::string_view dtype_of<double> = "float64";
template <>
inline constexpr std::string_view dtype_of<std::int32_t> = "int32";
template <>
inline constexpr std::string_view dtype_of<std::int64_t> = "int64";
template <>
inline constexpr std::string_view dtype_of<std::uint8_t> = "uint8";

template <class T>
std::string_view bytes_of(std::span<T const> all) {
  return {reinterpret_cast<char const*>(all.data()), all.size_bytes()};
}
template <class T>
array_view view_of(std::span<T const> all, detail::shape of) {
  return {dtype_of<T>, std::move(of), bytes_of(all)};
}
/// Of one number, which outlives it.
template <class T>
array_view scalar_view(T const& n) {
  return {dtype_of<T>, {}, bytes_of(std::span<T const>(&n, 1))};
}
inline array_view text_view(std::string_view text) {
  return {"utf8", {text.size()}, text};
}

/// "(3, 2)", as numpy says it.
std::string shown(detail::shape const& of);

/// Returns the arrays as bytes (docs/variables.md#wire-format-of-variables). REQUIRES: dtypes that
/// the format has, each with as many bytes as its shape says.
std::string encode(std::span<array_view const> all);
/// One array of rows that lie in several; of the dtype of the first.
std::string encode_rows(shape const& of, std::span<array_view const> parts);
/// Views of `bytes`. Errors: std::invalid_argument with the field.
std::vector<array_view> decode(std::string_view bytes);

/// All of it to memory of as many bytes.
void copy(array_view const& from, void* to);

/// Of one element; 0: no dtype of numbers.
std::size_t item_bytes(std::string_view dtype);

}  // namespace muster::detail
