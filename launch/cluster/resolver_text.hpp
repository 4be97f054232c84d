// Pieces of the one-line error texts of resolvers, and of the small grammars they read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muster/cluster_error.hpp"

namespace muster::cluster {

/// 'text', fit for one line of a terminal: control characters as \xNN, at most 80 bytes.
std::string quoted(std::string_view text);
/// The same without the quotes and the shortening.
std::string printable(std::string_view text);
/// "chief, worker"; "none" when there are none; at most 20 of them, then "and 7 more".
std::string listed(std::vector<std::string> const& names);

bool has_control_character(std::string_view text);
std::string_view trimmed(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char at);

/// A whole number in decimal digits, nothing else; none when it is no such, or above `most`.
std::optional<int> parse_count(std::string_view text, int most);

inline cluster_error invalid(std::string const& line) {
  return {cluster_error::code::invalid, line};
}
inline cluster_error missing(std::string const& line) {
  return {cluster_error::code::missing, line};
}

}  // namespace muster::cluster
