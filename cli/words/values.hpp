// What values of flags are read by: whole numbers, sizes, names to choose from. Each says in one
// short line what is wrong and what it wants. Pure; any thread.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace muster::cli {

/// "'x': must be a whole number from 1 to 1000"; of a `most` that no person counts to only the
/// least is told.
CLI::Validator whole_number(std::int64_t least, std::uint64_t most);

/// "64MiB" and the like becomes a number of bytes.
CLI::Validator byte_size();

/// "'x' is none of table, json"
std::string none_of(std::string const& text, std::vector<std::string> const& names);
CLI::Validator one_of(std::vector<std::string> const& names);

/// The number that a flag fills, if it is one: T, or that of an optional.
template <class T>
struct number_in {
  using type = T;
};
template <class T>
struct number_in<std::optional<T>> {
  using type = T;
};
template <class T>
constexpr bool is_whole_number = std::is_integral_v<typename number_in<T>::type> &&
                                 !std::is_same_v<typename number_in<T>::type, bool>;

/// As far as the type of a flag's value goes.
template <class T>
CLI::Validator number_that_fits(std::int64_t least) {
  using limits = std::numeric_limits<typename number_in<T>::type>;
  return whole_number(std::max<std::int64_t>(least, static_cast<std::int64_t>(limits::min())),
                      static_cast<std::uint64_t>(limits::max()));
}

}  // namespace muster::cli
