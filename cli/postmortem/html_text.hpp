// Converts untrusted text to HTML, and formats times and amounts for display. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace muster::cli::postmortem {

constexpr std::size_t text_bytes_max = 2'000;

/// Returns HTML with control characters and directional marks as numbers. Cuts the end of a long
/// text, and states how much was omitted.
std::string html(std::string_view text, std::size_t bytes_max = text_bytes_max);
/// Returns output without colour codes. Cuts the beginning of a long text.
std::string lines(std::string_view text, std::size_t bytes_max);

/// utc() returns "2026-11-27 07:43:58 UTC", with milliseconds if `exact`; clock_of() returns
/// "07:43:58.371". For 0, both return an empty string.
std::string utc(std::int64_t ms, bool exact = false);
std::string clock_of(std::int64_t ms);
std::string lasted(double ms);
std::string in_bytes(double bytes);

}  // namespace muster::cli::postmortem
