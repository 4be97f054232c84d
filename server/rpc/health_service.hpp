// grpc.health.v1.Health, for load balancers and probes, over this server's own queue: the one that
// is bundled with gRPC 1.51 (not tried with a newer one) would bring a poller of its own. Owned by
// the composition root, below the grpc_server; engine thread only.
#pragma once

#include <string>
#include <vector>

#include "server/rpc/stream_service.hpp"

namespace muster::server {

struct health_service_options {
  /// Names that can be asked for besides "", all with the same status.
  std::vector<std::string> services{"muster.v1.WorkerService", "muster.v1.CoordinatorService"};
  /// Calls at one time, watches for the most part. More: RESOURCE_EXHAUSTED.
  std::size_t calls_max = 1'000;
};

class health_service : public stream_service {
 public:
  /// Tells all watchers if it is a change.
  virtual void set_serving(bool serving) = 0;
};

/// Adds itself to `server`, NOT_SERVING. REQUIRES: before server.start().
std::unique_ptr<health_service> serve_health(coro::grpc_server& server,
                                             health_service_options options = {});

}  // namespace muster::server
