// muster.v1.TunnelService: connections of ranks to the coordination cluster of their program, which
// their workers carry here. Each tunnel ends when its attempt does: who may open one, and keep it,
// is a worker with a living rank of the attempt. Owned by the composition root; engine thread only.
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
  /// From the call's start to its first message; then it is cut.
  std::chrono::milliseconds first_message_timeout{10'000};
  /// Tunnels at one time, and those of one worker. More: RESOURCE_EXHAUSTED.
  std::size_t tunnels_max = 20'000, worker_tunnels_max = 2'048;
};

/// A connection to the store of torch.distributed of a program's cluster, of this client
/// ("host:port") and rank. Errors are the caller's.
using store_dial = std::function<muster::result<file_descriptor>(
    core::coordination::cluster_id, core::program_id, std::string peer, std::uint32_t rank)>;

class tunnel_service : public stream_service {
 public:
  /// Without it there are no stores. Before the server starts.
  virtual void dial_stores_by(store_dial dial) = 0;
  /// Something has happened to the program: tunnels that nobody may have any more end.
  virtual void judge(core::program_id program) = 0;
};

/// REQUIRES: before server.start(); all outlive the service.
std::unique_ptr<tunnel_service> serve_tunnels(pools& all, coordination_hub& clusters,
                                              cluster_ports& ports, coro::grpc_server& server,
                                              tunnel_options options = {});

}  // namespace muster::server
