// The ready file, from which scripts read the ports. The file is created atomically.
#pragma once

#include <filesystem>

#include "app/configuration.hpp"

namespace muster::server {

/// Writes {"grpc":"host:port","http":"host:port"}, plus "tls":true if TLS is on. Returns
/// FAILED_PRECONDITION with the path and the reason.
muster::result<void> write_ready_file(std::filesystem::path const& path, endpoint const& grpc,
                                      endpoint const& http, bool tls);
muster::result<void> write_ready_file(std::filesystem::path const& path, std::string const& json);

}  // namespace muster::server
