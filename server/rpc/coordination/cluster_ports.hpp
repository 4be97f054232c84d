// Which cluster a call is for. The wire has no name for it, so each cluster has a port: the
// server's own for the first, and for every other one that is opened here. gRPC cannot add ports
// while it runs (no version known that can); so connections to these are accepted here and handed
// to it, and a call is told by the connection it comes over. A caller over the main port may also
// say the cluster in the first label of the host name it dialled.
//
// Owned by the composition root, above the server, whose listener accepts; engine thread only.
#pragma once

#include <grpcpp/server_context.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/hub/cluster_endpoints.hpp"
#include "server/hub/coordination_hub.hpp"
#include "server/net/accepting_server.hpp"

namespace muster::server {

struct cluster_ports_options {
  /// IP address to listen on.
  std::string address = "127.0.0.1";
  /// Ports to take, in this order after the one that a cluster had before; 0 and 0: whatever the
  /// system picks.
  std::uint16_t port_first = 0;
  std::uint16_t port_last = 0;
  /// Whose calls the main port takes; it need not exist.
  std::string main_cluster = "default";
  /// The main port speaks TLS, and so do those of clusters, but for agents that speak plaintext.
  bool tls = false;
  /// A connection to one of these that speaks TLS is about to be served. Engine thread.
  std::function<void(int socket, std::string const& peer)> accepted = [](int, auto const&) {};
};

class cluster_ports final : public cluster_endpoints {
 public:
  /// REQUIRES: hub and server outlive it.
  cluster_ports(coordination_hub& hub, net::accepting_server& server,
                cluster_ports_options options);
  /// Stops.
  ~cluster_ports() override;
  cluster_ports(cluster_ports const&) = delete;

  /// Where the server listens itself: "127.0.0.1:8476". Once.
  void set_main_address(std::string address);

  /// Listens for the cluster's agents, at the port that it had before a restart where that is free,
  /// and gives the address, "127.0.0.1:9001"; the main port's for
  /// the main cluster, unless that speaks TLS and its agents plaintext. Errors: RESOURCE_EXHAUSTED
  /// when the ports are used up, FAILED_PRECONDITION when the system refuses, or agents are to
  /// speak TLS and the server does not. REQUIRES: the cluster exists. Connections are served
  /// once the server has started and the engine runs.
  muster::result<std::string> open(core::coordination::cluster_id cluster) override;
  /// Stops listening, before long. Connections stay, calls over them find no cluster. Harmless when
  /// not open.
  void close(core::coordination::cluster_id cluster) override;
  /// The cluster of the main port; 0 when there is none.
  core::coordination::cluster_id main() const override;
  /// Empty when it has no port.
  std::string address(core::coordination::cluster_id cluster) const override;
  /// A connection of this process with itself, which the cluster's service answers on behalf of a
  /// client that has been let in: its peer is the client's host with a port of ours. Errors:
  /// UNAVAILABLE, the server is stopping; RESOURCE_EXHAUSTED, no descriptors or ports are left.
  /// REQUIRES: the cluster exists, the server has started.
  muster::result<file_descriptor> dial(core::coordination::cluster_id cluster,
                                       grpc::ServerContext const& client);
  /// Closes every port; what is still accepted is closed. Idempotent.
  void stop();

  // For calls.
  /// NOT_FOUND says where clusters are.
  muster::result<core::coordination::cluster_id> cluster_of(
      grpc::ServerContext const& context) const;
  /// It comes over a connection that dial() has made: its client has been let in.
  bool is_let_in(grpc::ServerContext const& context) const;
  /// Whose closures it is about: over the main port the main cluster's, whether that is declared or
  /// not. FAILED_PRECONDITION: it came in plaintext, for agents, where the main port speaks TLS.
  muster::result<core::coordination::cluster_id> pool_of(grpc::ServerContext const& context) const;
  /// A connection of the main port, whose peer is from now on no other port's that it once was, and
  /// speaks for `client`. Any thread.
  void accepted_on_main(int socket, std::string const& peer, std::string const& client);
  /// "10.0.0.3:4711", "[::1]:4711", of who is behind a relay that says so; empty when unknown.
  std::string peer_of(grpc::ServerContext const& context) const;
  /// The same of the connection itself, which is a relay's then: no other one has it meanwhile.
  std::string connection_peer_of(grpc::ServerContext const& context) const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// gRPC's "ipv4:1.2.3.4:5" or "ipv6:%5B::1%5D:5" as "1.2.3.4:5" or "[::1]:5".
std::string readable_peer(std::string const& peer);

}  // namespace muster::server
