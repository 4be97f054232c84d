// grpc.health.v1.Health, for load balancers and probes, over this server's own queue: gRPC's
// bundled one would bring a poller of its own. Owned by the composition root, below the
// grpc_server; engine thread only.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "coro/grpc_server.hpp"
#include "coro/task.hpp"

namespace muster::server {

struct health_service_options {
  /// Names that can be asked for besides "", all with the same status.
  std::vector<std::string> services{"muster.v1.WorkerService", "muster.v1.CoordinatorService"};
  /// Calls at one time, watches for the most part. More: RESOURCE_EXHAUSTED.
  std::size_t calls_max = 1'000;
};

class health_service {
 public:
  /// Adds itself to `server`, NOT_SERVING. REQUIRES: before server.start().
  explicit health_service(coro::grpc_server& server, health_service_options options = {});
  /// REQUIRES: no call is left.
  ~health_service();
  health_service(health_service const&) = delete;
  health_service& operator=(health_service const&) = delete;

  /// Tells all watchers if it is a change.
  void set_serving(bool serving);

  /// Ends every watch with UNAVAILABLE. Completes when all are gone. Comes before the server's
  /// stop(). Errors and cancellation: none. Once only.
  [[nodiscard]] coro::task<void> stop();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace muster::server
