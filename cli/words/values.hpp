// Validators for flag values. Their messages describe the error and the expected value in one line.
// Pure functions.
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

/// Reports "'x': must be a whole number from 1 to 1000", without the upper limit if it is very
/// large.
CLI::Validator whole_number(std::int64_t least, std::uint64_t most);

CLI::Validator byte_size();

std::string none_of(std::string const& text, std::vector<std::string> const& names);
CLI::Validator one_of(std::vector<std::string> const& names);

/// The number type of a flag's value: T, or the value type of an optional.
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

template <class T>
CLI::Validator number_that_fits(std::int64_t least) {
  using limits = std::numeric_limits<typename number_in<T>::type>;
  return whole_number(std::max<std::int64_t>(least, static_cast<std::int64_t>(limits::min())),
                      static_cast<std::uint64_t>(limits::max()));
}

}  // namespace muster::cli
