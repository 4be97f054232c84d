// The stores of torch.distributed, with their thread: which clusters have one is in their
// declarations, and of the main one in the settings. Owned by the composition root; main thread, or
// engine thread where it says so.
#pragma once

#include "app/engine_assembly.hpp"
#include "app/perimeter.hpp"
#include "app/store_assembly.hpp"
#include "server/rpc/workers/rank_tunnels.hpp"
#include "server/torch/sockets/torch_server.hpp"

namespace muster::server {

class torch_assembly {
 public:
  /// REQUIRES: all outlive it.
  torch_assembly(engine_assembly& engine, perimeter& p, store_assembly& store,
                 tunnel_service& tunnels);

  /// Engine thread.
  torch::torch_stores& stores() { return stores_; }

  /// Listens for the clusters that are known, and says so in the log. start_error.
  void open();
  void start();
  /// Closes all connections.
  void stop();

 private:
  torch::torch_server_options options(perimeter& p);
  torch::carried_store store_of(core::program_id program, std::uint32_t ranks);

  engine_assembly& engine_;
  coordination_hub& hub_;
  server::pools& pools_;
  torch::torch_server stores_;
};

}  // namespace muster::server
