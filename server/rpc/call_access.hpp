// Authenticates gRPC calls by the token in their metadata. Used only on the engine thread.
#pragma once

#include <grpcpp/server_context.h>

#include <string>
#include <string_view>
#include <vector>

#include "coro/grpc_server.hpp"
#include "server/core/access/token.hpp"
#include "server/hub/access/networks.hpp"
#include "server/rpc/coordination/coordination_service.hpp"

namespace muster::server {

class gate;
class cluster_ports;
class hub;
class pools;
struct stream_options;

constexpr int needs(core::permission p) {
  return static_cast<int>(p);
}

/// Returns the token after "Bearer " in the `authorization` metadata, or an empty string.
std::string_view credential_of(grpc::ServerContext const& context);
/// Returns "10.0.0.3" for gRPC's "ipv4:10.0.0.3:4711", and "::1" for "ipv6:%5B::1%5D:4711".
std::string address_of(std::string const& peer);

/// Implements grpc_server_options::admit. `permission` is a value that needs() returned.
coro::admission admit(gate& g, grpc::ServerContext const& context, cluster_ports const& ports,
                      int permission, std::string const& method);
/// Implements coordination_service_options::admit. Admits calls with a token that grants
/// coordination. Also admits calls from the networks in `trusted`, because unmodified agents send
/// no token.
agent_admission admit_agent(gate& g, std::vector<network> const& trusted,
                            grpc::ServerContext const& context, std::string const& address,
                            std::string const& cluster, bool again = false);
/// Returns the caller, or null if no token is required or `g` is null.
core::caller caller_of(gate const* g, grpc::ServerContext const& context);

/// Returns the hub for a new session or worker: the hub of `cluster`, or of the port's cluster if
/// `cluster` is empty. Returns NOT_FOUND if the cluster does not exist, PERMISSION_DENIED if the
/// token is restricted to other clusters, and RESOURCE_EXHAUSTED at the limit.
muster::result<hub*> pool_of_call(pools& all, stream_options const& options,
                                  grpc::ServerContext const& context, std::string const& cluster);

}  // namespace muster::server
