// A file of tokens, for servers that store none themselves (for example a mounted secret). A line
// is
//
//   ROLE TOKEN [cluster=C[,C…]] [allow-exec]
//
// Empty lines and lines that begin with # are ignored. Pure functions; any thread.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "server/core/access/token.hpp"

namespace muster::server {

/// Parses the contents of a token file. Errors: INVALID_ARGUMENT with the line and the problem, but
/// without the token.
muster::result<std::vector<core::token>> parse_token_file(std::string_view text);
/// Reads and parses a token file. Errors: NOT_FOUND; INVALID_ARGUMENT with the path.
muster::result<std::vector<core::token>> read_token_file(std::filesystem::path const& file);

}  // namespace muster::server
