// The ready-file: where a script learns the ports. It appears whole or not at all.
#pragma once

#include <filesystem>

#include "app/configuration.hpp"

namespace muster::server {

/// Writes {"grpc":"host:port","http":"host:port"} beside `path` and renames it into place, with
/// "tls":true where that is spoken.
/// Errors: FAILED_PRECONDITION with the path and the system's reason.
muster::result<void> write_ready_file(std::filesystem::path const& path, endpoint const& grpc,
                                      endpoint const& http, bool tls);
/// The same with one line of JSON of the caller's.
muster::result<void> write_ready_file(std::filesystem::path const& path, std::string const& json);

}  // namespace muster::server
