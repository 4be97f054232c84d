// Durations as people write and read them: "30s", "250ms", "1m30s"; and as an option of a verb.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace muster::cli {

using duration = std::chrono::microseconds;

/// A number with a unit (us, ms, s, m, h, d), several in a row; "0" needs none.
std::optional<duration> parse_duration(std::string_view text);
/// The same form, exact.
std::string to_string(duration d);
/// For tables: one or two digits that matter: "0.4 s", "12 s", "3 min", "2 h".
std::string rounded(duration d);

/// Adds an option that takes a duration and shows the default.
CLI::Option* add_duration(CLI::App& verb, std::string const& name, duration& value,
                          std::string const& help);
CLI::Option* add_duration(CLI::App& verb, std::string const& name, std::optional<duration>& value,
                          std::string const& help);

}  // namespace muster::cli
