// Times as HTTP services write them. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace muster::cluster {

/// The `Retry-After` header, seconds or a date; none when there is none or it is neither. Never
/// negative.
std::optional<std::chrono::milliseconds> retry_after(std::string_view header,
                                                     std::chrono::system_clock::time_point now);

/// "2020-11-02T00:00:00.25Z", "…+01:00" (RFC 3339), to the second; none when it is no such.
std::optional<std::chrono::system_clock::time_point> parse_timestamp(std::string_view text);

}  // namespace muster::cluster
