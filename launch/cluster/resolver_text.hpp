// Helpers for one-line errors of resolvers and for their small grammars.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muster/cluster_error.hpp"

namespace muster::cluster {

/// Returns the text in quotes for one terminal line, with control characters as \xNN and at most 80
/// bytes.
std::string quoted(std::string_view text);
std::string printable(std::string_view text);
/// Returns a list such as "chief, worker", or "none". Long lists end after 20 names, for example
/// with "and 7 more".
std::string listed(std::vector<std::string> const& names);

bool has_control_character(std::string_view text);
std::string_view trimmed(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char at);

/// Parses decimal digits only. Returns nullopt if the number is malformed or greater than `most`.
std::optional<int> parse_count(std::string_view text, int most);

inline cluster_error invalid(std::string const& line) {
  return {cluster_error::code::invalid, line};
}
inline cluster_error missing(std::string const& line) {
  return {cluster_error::code::missing, line};
}

}  // namespace muster::cluster
