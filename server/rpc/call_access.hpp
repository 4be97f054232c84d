// Who calls: the token in a call's metadata, judged by the gate. Engine thread.
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

/// For accept_options.
constexpr int needs(core::permission p) {
  return static_cast<int>(p);
}

/// What stands behind "Bearer " in the metadata `authorization`; empty: nothing.
std::string_view credential_of(grpc::ServerContext const& context);
/// "10.0.0.3" of gRPC's "ipv4:10.0.0.3:4711", "::1" of "ipv6:%5B::1%5D:4711".
std::string address_of(std::string const& peer);

/// For grpc_server_options::admit. `permission`: what `needs` gave.
coro::admission admit(gate& g, grpc::ServerContext const& context, cluster_ports const& ports,
                      int permission, std::string const& method);
/// For coordination_service_options::admit: with a token that may coordinate, or, as agents that
/// are not modified carry none, from one of these networks.
agent_admission admit_agent(gate& g, std::vector<network> const& trusted,
                            grpc::ServerContext const& context, std::string const& address,
                            std::string const& cluster, bool again = false);
/// Who it is, for what a call does by itself; null: nobody is asked, or `g` is null.
core::caller caller_of(gate const* g, grpc::ServerContext const& context);

/// Whose closures a newcomer's call is about: `cluster`, as the message says it, or that of the
/// port it came over. NOT_FOUND: there is none of that name, or the cluster of the port was
/// deleted; RESOURCE_EXHAUSTED; PERMISSION_DENIED: the caller's token is bound to others.
muster::result<hub*> pool_of_call(pools& all, stream_options const& options,
                                  grpc::ServerContext const& context, std::string const& cluster);

}  // namespace muster::server
