// Token files, such as mounted secrets, for servers that do not store tokens themselves. A line has
// the form
//
//   ROLE TOKEN [cluster=C[,C…]] [allow-exec]
//
// Empty lines and lines that start with # are ignored. Pure, thread-safe functions.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "server/core/access/token.hpp"

namespace muster::server {

/// Returns INVALID_ARGUMENT with the line's number and its problem, but without the token, if a
/// line is invalid.
muster::result<std::vector<core::token>> parse_token_file(std::string_view text);
/// Returns NOT_FOUND if there is no file, or INVALID_ARGUMENT with the path if a line is invalid.
muster::result<std::vector<core::token>> read_token_file(std::filesystem::path const& file);

}  // namespace muster::server
