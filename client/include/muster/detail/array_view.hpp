// References to arrays, and their encoding. For variable.hpp only.
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

/// An array owned by the caller. `dtype` is a numpy dtype name, "utf8" for text, or "none".
struct array_view {
  std::string_view dtype;
  detail::shape shape{};
  std::string_view data{};  // in C order, little endian, any alignment
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
/// Returns a view of one number. The number must outlive the view.
template <class T>
array_view scalar_view(T const& n) {
  return {dtype_of<T>, {}, bytes_of(std::span<T const>(&n, 1))};
}
inline array_view text_view(std::string_view text) {
  return {"utf8", {text.size()}, text};
}

/// Returns the shape as numpy prints it, for example "(3, 2)".
std::string shown(detail::shape const& of);

/// Returns the encoded arrays (docs/variables.md#wire-format-of-variables). Preconditions: the
/// format supports the dtypes, and the size of each array matches its shape.
std::string encode(std::span<array_view const> all);
/// Encodes one array whose rows are in several parts, with the dtype of the first part.
std::string encode_rows(shape const& of, std::span<array_view const> parts);
/// Returns views of `bytes`. Throws std::invalid_argument, whose message names the invalid field.
std::vector<array_view> decode(std::string_view bytes);

void copy(array_view const& from, void* to);

/// Returns the bytes of one element, or 0 if the dtype is not numeric.
std::size_t item_bytes(std::string_view dtype);

}  // namespace muster::detail
