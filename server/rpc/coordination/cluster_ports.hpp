// Determines the cluster of a call. The protocol has no cluster field, so each cluster has its own
// port; the first cluster uses the server's port. gRPC cannot add ports at run time. This class
// therefore accepts connections to the other ports and passes them to gRPC, and a call belongs to
// its connection's cluster. A client that connects to the main port can also select a cluster by
// the first label of the host name.
//
// Owned by the composition root and destroyed before the server, whose listener accepts the
// connections. Used only on the engine thread.
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
  std::string address = "127.0.0.1";
  /// Port range, used in ascending order. The port that the cluster used before is preferred. If
  /// both are 0, the system selects ports.
  std::uint16_t port_first = 0;
  std::uint16_t port_last = 0;
  /// Cluster of the main port, which need not exist.
  std::string main_cluster = "default";
  /// Whether the main port uses TLS. If so, the clusters' ports also use TLS, except for clusters
  /// whose agents use plaintext.
  bool tls = false;
  /// Called on the engine thread before a TLS connection to one of the ports is served.
  std::function<void(int socket, std::string const& peer)> accepted = [](int, auto const&) {};
};

class cluster_ports final : public cluster_endpoints {
 public:
  /// REQUIRES: `hub` and `server` outlive this object.
  cluster_ports(coordination_hub& hub, net::accepting_server& server,
                cluster_ports_options options);
  ~cluster_ports() override;
  cluster_ports(cluster_ports const&) = delete;

  /// Sets the address of the server's own port, such as "127.0.0.1:8476". Called once.
  void set_main_address(std::string address);

  /// Opens a port for the cluster's agents and returns its address, such as "127.0.0.1:9001".
  /// Prefers the port from before a restart. For the main cluster, returns the main port, unless
  /// that port uses TLS and the agents use plaintext. Connections are served once the server has
  /// started and the engine runs. Returns RESOURCE_EXHAUSTED if no port is free. Returns
  /// FAILED_PRECONDITION if the system refuses, or if the agents require TLS and the server does
  /// not use it. REQUIRES: the cluster exists.
  muster::result<std::string> open(core::coordination::cluster_id cluster) override;
  /// Closes the port asynchronously. Its connections stay open, but their calls fail. Has no effect
  /// if the port is not open.
  void close(core::coordination::cluster_id cluster) override;
  /// Returns the cluster of the main port, or 0 if it does not exist.
  core::coordination::cluster_id main() const override;
  /// Returns an empty string if the cluster has no port.
  std::string address(core::coordination::cluster_id cluster) const override;
  /// Connects this process to the cluster's service on behalf of an authorized client. The
  /// connection's peer combines the client's host with one of the server's ports. Returns
  /// UNAVAILABLE if the server is stopping, and RESOURCE_EXHAUSTED if no descriptor or port is
  /// free. REQUIRES: the cluster exists, and the server has started.
  muster::result<file_descriptor> dial(core::coordination::cluster_id cluster,
                                       grpc::ServerContext const& client);
  /// Closes all ports. Connections that arrive later are closed. Idempotent.
  void stop();

  /// Returns the cluster of a call, or NOT_FOUND with the clusters' addresses in the message.
  muster::result<core::coordination::cluster_id> cluster_of(
      grpc::ServerContext const& context) const;
  /// Returns whether the call uses a connection made by dial(), whose client is authorized.
  bool is_authorized(grpc::ServerContext const& context) const;
  /// Returns the cluster of a call that concerns closures. For a call to the main port, returns the
  /// main cluster, even if it is not declared. Returns FAILED_PRECONDITION for a plaintext call to
  /// an agents' port if the main port uses TLS.
  muster::result<core::coordination::cluster_id> pool_of(grpc::ServerContext const& context) const;
  /// Reports a connection to the main port, made on behalf of `client`. Drops earlier connections
  /// that this peer made to other ports. Thread-safe.
  void accepted_on_main(int socket, std::string const& peer, std::string const& client);
  /// Returns the caller's address, such as "10.0.0.3:4711" or "[::1]:4711", or an empty string if
  /// unknown. Behind a relay, returns the client's address.
  std::string peer_of(grpc::ServerContext const& context) const;
  /// Returns the address of the connection's peer, which may be a relay. The address is unique
  /// among open connections.
  std::string connection_peer_of(grpc::ServerContext const& context) const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Converts gRPC's "ipv4:1.2.3.4:5" or "ipv6:%5B::1%5D:5" to "1.2.3.4:5" or "[::1]:5".
std::string readable_peer(std::string const& peer);

}  // namespace muster::server
