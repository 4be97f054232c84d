// Pure functions for task addresses: host and port, with IPv6 in brackets. Error messages begin
// with `origin`.
#pragma once

#include <string>
#include <string_view>

namespace muster::cluster {

/// Returns for example "10.0.0.1:8470" or "[fd00::1]:8470".
/// @throws cluster_error (invalid) if the port is not from 1 to 65535, or the host is malformed
std::string host_port(std::string const& host, std::int64_t port, std::string const& origin);

/// Parses "host", "host:1", "[fd00::1]:1", "[fd00::1]" or "fd00::1", with or without "grpc://".
std::string parse_endpoint(std::string_view text, int default_port, std::string const& origin);

std::string host_of(std::string const& address);

bool is_loopback(std::string const& host);

}  // namespace muster::cluster
