// Serves grpc.health.v1.Health for load balancers and probes. Uses the server's own queue, because
// gRPC 1.51's implementation has its own polling thread. Owned by the composition root and
// destroyed before the grpc_server. Used only on the engine thread.
#pragma once

#include <string>
#include <vector>

#include "server/rpc/stream_service.hpp"

namespace muster::server {

struct health_service_options {
  /// Names of services that have the same status as the server, whose name is "".
  std::vector<std::string> services{"muster.v1.WorkerService", "muster.v1.CoordinatorService"};
  /// Maximum number of calls, most of which are watches. At the limit, calls fail with
  /// RESOURCE_EXHAUSTED.
  std::size_t calls_max = 1'000;
};

class health_service : public stream_service {
 public:
  virtual void set_serving(bool serving) = 0;
};

/// REQUIRES: server.start() has not been called.
std::unique_ptr<health_service> serve_health(coro::grpc_server& server,
                                             health_service_options options = {});

}  // namespace muster::server
