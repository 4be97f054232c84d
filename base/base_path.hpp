// The path prefix under which a reverse proxy publishes the server. Pure
// functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

/// A prefix is part of every page and of the name of a cookie, so it is short.
inline constexpr std::size_t base_path_bytes_max = 128;

/// Returns true for an empty text, and for paths such as "/a/b" of letters, digits, '-', '_' and
/// '.', without an empty part, "." or "..", and without a slash at the end.
bool is_base_path(std::string_view path);

/// Removes the prefix from a request's path. A path without the prefix stays as it is, because some
/// proxies remove it, and workers and health checks address the server directly.
std::string without_base_path(std::string_view base_path, std::string_view path);

}  // namespace muster
