// Durations in readable form ("30s", "250ms", "1m30s"), and flags for them.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace muster::cli {

using duration = std::chrono::microseconds;

/// The units are us, ms, s, m, h and d; "0" needs no unit. Returns nothing if the text is invalid.
std::optional<duration> parse_duration(std::string_view text);
/// The exact inverse of parse_duration().
std::string to_string(duration d);
/// Returns one or two significant digits: "0.4 s", "12 s", "3 min", "2 h".
std::string rounded(duration d);

CLI::Option* add_duration(CLI::App& verb, std::string const& name, duration& value,
                          std::string const& help);
CLI::Option* add_duration(CLI::App& verb, std::string const& name, std::optional<duration>& value,
                          std::string const& help);

}  // namespace muster::cli
