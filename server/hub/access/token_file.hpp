// A file of tokens, for servers that keep none themselves (a mounted secret, say). A line is
//
//   ROLE TOKEN [cluster=C[,C…]] [allow-exec]
//
// Empty lines and those that begin with # are skipped. Pure functions; any thread.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "server/core/access/token.hpp"

namespace muster::server {

/// INVALID_ARGUMENT says which line and what is wrong with it, without the token.
muster::result<std::vector<core::token>> parse_token_file(std::string_view text);
/// The same of a file. NOT_FOUND, INVALID_ARGUMENT with its path.
muster::result<std::vector<core::token>> read_token_file(std::filesystem::path const& file);

}  // namespace muster::server
