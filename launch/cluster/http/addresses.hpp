// Addresses of tasks: host and port, IPv6 in brackets. Pure functions. `origin` begins errors.
#pragma once

#include <string>
#include <string_view>

namespace muster::cluster {

/// Returns "10.0.0.1:8470" or "[fd00::1]:8470".
/// @throws cluster_error invalid if the port is not within 1…65535, or the host is malformed
std::string host_port(std::string const& host, std::int64_t port, std::string const& origin);

/// Parses "host", "host:1", "[fd00::1]:1", "[fd00::1]" or "fd00::1", with or without "grpc://". The
/// port defaults to `default_port`.
std::string parse_endpoint(std::string_view text, int default_port, std::string const& origin);

/// Returns "10.0.0.1" of "10.0.0.1:8470", and "fd00::1" of "[fd00::1]:8470".
std::string host_of(std::string const& address);

bool is_loopback(std::string const& host);

}  // namespace muster::cluster
