// Token files, such as mounted secrets, for servers that do not store tokens themselves. A line has
// the form
//
//   ROLE TOKEN [cluster=C[,C…]] [allow-exec]
//
// Empty lines and lines that start with # are ignored. Pure functions; any thread.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "server/core/access/token.hpp"

namespace muster::server {

/// Errors: INVALID_ARGUMENT with the line and the problem, but without the token.
muster::result<std::vector<core::token>> parse_token_file(std::string_view text);
/// Errors: NOT_FOUND; INVALID_ARGUMENT with the path.
muster::result<std::vector<core::token>> read_token_file(std::filesystem::path const& file);

}  // namespace muster::server
