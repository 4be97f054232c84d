// muster.v1.TunnelService: forwards connections of ranks, through their worker, to the coordination
// cluster of their program. Only a worker with a live rank of the attempt can open and keep a
// tunnel, so a tunnel ends with its attempt. Owned by the composition root; used only on the engine
// thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "server/hub/pools.hpp"
#include "server/rpc/coordination/cluster_ports.hpp"
#include "server/rpc/stream_service.hpp"

namespace muster::server {

struct tunnel_options {
  /// Time limit for the first message. The call is cancelled afterwards.
  std::chrono::milliseconds first_message_timeout{10'000};
  /// Maximum number of tunnels, in total and per worker. At the limit, calls fail with
  /// RESOURCE_EXHAUSTED.
  std::size_t tunnels_max = 20'000, worker_tunnels_max = 2'048;
};

/// Connects a client ("host:port") and its rank to the TCPStore of a program's cluster. Errors are
/// passed to the caller.
using store_dial = std::function<muster::result<file_descriptor>(
    core::coordination::cluster_id, core::program_id, std::string peer, std::uint32_t rank)>;

class tunnel_service : public stream_service {
 public:
  /// Sets how to connect to stores. Must be called before the server starts; without it,
  /// connections to stores fail.
  virtual void dial_stores_by(store_dial dial) = 0;
  /// Ends tunnels that a change of the program no longer allows.
  virtual void judge(core::program_id program) = 0;
};

/// REQUIRES: server.start() has not been called; all arguments outlive the service.
std::unique_ptr<tunnel_service> serve_tunnels(pools& all, coordination_hub& clusters,
                                              cluster_ports& ports, coro::grpc_server& server,
                                              tunnel_options options = {});

}  // namespace muster::server
