// Addresses as tasks have them: host and port, IPv6 in brackets. Pure.
#pragma once

#include <string>
#include <string_view>

namespace muster::cluster {

/// "10.0.0.1:8470", "[fd00::1]:8470". invalid: the port is not within 1…65535, or the host is none;
/// `origin` begins the line.
std::string host_port(std::string const& host, std::int64_t port, std::string const& origin);

/// Of "host", "host:1", "[fd00::1]:1", "[fd00::1]" or "fd00::1", with or without "grpc://" in
/// front; without a port it is `default_port`.
std::string parse_endpoint(std::string_view text, int default_port, std::string const& origin);

/// "10.0.0.1" of "10.0.0.1:8470", "fd00::1" of "[fd00::1]:8470".
std::string host_of(std::string const& address);

bool is_loopback(std::string const& host);

}  // namespace muster::cluster
