// The gRPC part of the server: the main port, the clusters' ports, and their services. Owned by the
// composition root. Used only on the engine thread once it runs, unless stated otherwise.
#pragma once

#include <memory>
#include <string>

#include "app/access/access.hpp"
#include "app/engine_assembly.hpp"
#include "app/perimeter.hpp"
#include "app/store_assembly.hpp"
#include "server/net/accepting_server.hpp"
#include "server/rpc/coordination/agent_connections.hpp"
#include "server/rpc/coordination/cluster_ports.hpp"
#include "server/rpc/coordination/coordination_service.hpp"
#include "server/rpc/health_service.hpp"
#include "server/rpc/stream_service.hpp"
#include "server/rpc/workers/rank_tunnels.hpp"

namespace muster::server {

class wire_assembly {
 public:
  wire_assembly(engine_assembly& engine, perimeter& p, store_assembly& store, access& entry);

  cluster_endpoints& endpoints() { return ports_; }
  tunnel_service& tunnels() { return *tunnels_; }
  /// Thread-safe.
  connection_counts connections();

  /// Opens and logs all ports. Returns the main address.
  /// @throws start_error
  endpoint open();
  /// Notifies clients that the server is stopping, and closes the clusters' ports.
  void close();
  void end_all_of(std::string const& token);
  /// Ends the streams, then the calls. Cancels slow calls.
  coro::task<void> stop();

 private:
  net::accepting_server_options server_options();
  stream_options streams();

  engine_assembly& engine_;
  perimeter& perimeter_;
  store_assembly& store_;
  access& access_;
  agent_connections connections_;
  net::accepting_server grpc_;
  cluster_ports ports_;
  std::unique_ptr<stream_service> const workers_, sessions_, blob_calls_;
  std::unique_ptr<coordination_service> const agents_;
  std::unique_ptr<tunnel_service> const tunnels_;
  std::unique_ptr<health_service> const health_;
  std::unique_ptr<stream_service> const reflection_;
};

}  // namespace muster::server
