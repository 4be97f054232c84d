// Pure functions that parse times in HTTP answers.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace muster::cluster {

/// Parses a `Retry-After` header, in seconds or as a date. Returns nullopt if the header is missing
/// or malformed. The result is never negative.
std::optional<std::chrono::milliseconds> retry_after(std::string_view header,
                                                     std::chrono::system_clock::time_point now);

/// Parses RFC 3339 times such as "2020-11-02T00:00:00.25Z" and "…+01:00", without fractions of
/// seconds. Returns nullopt if the text is malformed.
std::optional<std::chrono::system_clock::time_point> parse_timestamp(std::string_view text);

}  // namespace muster::cluster
