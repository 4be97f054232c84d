// Closes connections that gRPC reads. No known version of gRPC has a function for this, so the
// process's own descriptors are used. Any thread.
#pragma once

#include <string>
#include <vector>

namespace muster::net {

/// Resets the connection of this process whose peer has this gRPC name ("ipv4:10.0.0.3:4711",
/// "ipv6:%5B::1%5D:4711", "fd:42"). Its reader sees the end of the stream. Searches all descriptors
/// unless the name contains one.
/// @return the peer as "10.0.0.3:4711"; empty if there is no such connection.
std::string reset_connection(std::string const& name);

/// Returns the gRPC name of the peer "10.0.0.3:4711" of an accepted connection,
/// "ipv4:10.0.0.3:4711".
std::string grpc_name(std::string const& peer);

/// Resets the connection of a descriptor and drops its unread data. Returns the peer.
std::string reset_socket(int socket);

std::vector<int> open_descriptors();

}  // namespace muster::net
