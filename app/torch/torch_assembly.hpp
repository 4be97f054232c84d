// The stores of torch.distributed, with their thread: which clusters have one is in their
// declarations, and of the main one in the settings. Owned by the composition root; main thread, or
// engine thread where it says so.
#pragma once

#include <memory>

#include "app/engine_assembly.hpp"
#include "app/perimeter.hpp"
#include "app/store_assembly.hpp"
#include "server/rpc/workers/rank_tunnels.hpp"
#include "server/torch/torch_stores.hpp"

namespace muster::server {

class torch_assembly {
 public:
  virtual ~torch_assembly() = default;

  /// Returns null if this build has no stores. Engine thread.
  virtual torch::torch_stores* stores() = 0;

  /// Listens for the clusters that are known, and says so in the log. start_error.
  virtual void open() = 0;
  virtual void start() = 0;
  /// Closes all connections.
  virtual void stop() = 0;
};

/// Makes the stores, or, in a build without them, an assembly whose `open` refuses all settings of
/// stores. REQUIRES: all outlive it.
std::unique_ptr<torch_assembly> make_torch_assembly(engine_assembly& engine, perimeter& p,
                                                    store_assembly& store, tunnel_service& tunnels);

}  // namespace muster::server
