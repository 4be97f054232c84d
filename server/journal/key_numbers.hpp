// Parses the numbers in the keys of entries. A key with an ID consists of the kind, NUL, the ID,
// and optionally NUL and more text.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace muster::server::journal {

/// Digits of the ID of a job, program or value, in base 16.
inline constexpr std::size_t id_digits = 16;
/// Digits of a position, attempt or rank, in base 10.
inline constexpr std::size_t position_digits = 10;
/// Digits of the index of a task, in base 10.
inline constexpr std::size_t task_digits = 8;

/// Parses a number of exactly `digits` digits, with letters in lower case, as servers write it.
/// Returns nothing for any other form, so that each number has only one valid text.
template <class Number>
std::optional<Number> key_number(std::string_view text, std::size_t digits, int base) {
  Number n = 0;
  auto const upper = [](char c) { return c >= 'A' && c <= 'F'; };
  if (text.size() != digits || std::any_of(text.begin(), text.end(), upper)) return {};
  auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n, base);
  return ec == std::errc() && end == text.data() + text.size() ? std::optional(n) : std::nullopt;
}

/// Returns the ID in a key, or nothing if it is missing or malformed.
inline std::optional<std::uint64_t> id_in(std::string_view key) {
  if (key.size() < 2 || (key.size() > 2 + id_digits && key[2 + id_digits] != '\0')) return {};
  return key_number<std::uint64_t>(key.substr(2, id_digits), id_digits, 16);
}

/// Returns the text after the NUL that follows the ID. Does not check the key.
inline std::string_view after_id(std::string_view key) {
  return key.substr(std::min(key.size(), 3 + id_digits));
}

/// Returns the position, attempt or rank after the ID, or nothing if it is missing or malformed.
inline std::optional<std::uint32_t> number_in(std::string_view key) {
  return key_number<std::uint32_t>(after_id(key), position_digits, 10);
}

}  // namespace muster::server::journal
