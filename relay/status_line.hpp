// The first line of an HTTP answer. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace muster::relay {

/// Longer first lines are no answer.
inline constexpr std::size_t status_line_bytes_max = 1024;

/// "HTTP/1.1 503 Service Unavailable" is 503. Nothing: it is no such line.
std::optional<unsigned> status_of_line(std::string_view line);

}  // namespace muster::relay
