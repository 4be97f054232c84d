// Closes connections that gRPC reads. gRPC has no function for closing a connection, so these
// functions use the process's descriptors. Thread-safe.
#pragma once

#include <string>
#include <vector>

namespace muster::net {

/// Resets this process's connection whose peer has this gRPC name ("ipv4:10.0.0.3:4711",
/// "ipv6:%5B::1%5D:4711", "fd:42"). Searches all descriptors unless the name contains a descriptor.
/// @return the peer as "10.0.0.3:4711"; empty if there is no such connection
std::string reset_connection(std::string const& name);

/// Returns the gRPC 1.51 name of the peer "10.0.0.3:4711": "ipv4:10.0.0.3:4711".
std::string grpc_name(std::string const& peer);

/// Resets the descriptor's connection and drops its unread data. Returns the peer, or an empty
/// string on failure.
std::string reset_socket(int socket);

std::vector<int> open_descriptors();

}  // namespace muster::net
