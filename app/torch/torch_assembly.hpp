// TCPStores of torch.distributed and their thread. The settings determine the main cluster's
// TCPStore; declarations of other clusters determine their TCPStores. Owned by the composition
// root. Used on the main thread unless stated otherwise.
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

  /// Returns nullptr if this build has no TCPStores. Called on the engine thread.
  virtual torch::torch_stores* stores() = 0;

  /// Listens for the known clusters and logs their addresses.
  /// @throws start_error
  virtual void open() = 0;
  virtual void start() = 0;
  virtual void stop() = 0;
};

/// In a build without TCPStores, open() of the result rejects all TCPStore settings.
/// @pre All arguments outlive the result.
std::unique_ptr<torch_assembly> make_torch_assembly(engine_assembly& engine, perimeter& p,
                                                    store_assembly& store, tunnel_service& tunnels);

}  // namespace muster::server
