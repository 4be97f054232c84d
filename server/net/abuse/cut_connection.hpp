// Ends a connection that gRPC reads: it has no call for that (no version known that has one), but
// shares the process's descriptors.
#pragma once

#include <string>
#include <vector>

namespace muster::net {

/// Ends the TCP connection of this process whose other end is `name`, in gRPC's words
/// ("ipv4:10.0.0.3:4711", "ipv6:%5B::1%5D:4711", "fd:42"): its reader sees the end of the stream.
/// Gives it as "10.0.0.3:4711"; empty: there is none. Looks at every descriptor unless the name is
/// one. Any thread.
std::string cut_connection(std::string const& name);

/// The name that gRPC gives to the peer "10.0.0.3:4711" of an accepted connection:
/// "ipv4:10.0.0.3:4711". Any thread.
std::string grpc_name(std::string const& peer);

/// The same for a descriptor, with what it has sent and nobody has read. Any thread.
std::string cut_socket(int socket);

/// Of this process, as they are now. Any thread.
std::vector<int> open_descriptors();

}  // namespace muster::net
