// muster.v1.CoordinatorService: those who schedule closures, by stream (one session_stream each;
// this keeps the list and ends them) or by call (coordinator_calls). Owned by the composition root,
// below the grpc_server; engine thread only.
#pragma once

#include <cstddef>
#include <memory>

#include "coro/grpc_server.hpp"
#include "coro/task.hpp"
#include "server/hub/hub.hpp"
#include "server/rpc/stream_options.hpp"

namespace muster::server {

class coordinator_service {
 public:
  /// Adds itself to `server`. REQUIRES: before server.start(); hub and server outlive the service.
  coordinator_service(hub& hub, coro::grpc_server& server, stream_options options = {});
  /// REQUIRES: no stream is left: stop() or the server's stop() has completed.
  ~coordinator_service();
  coordinator_service(coordinator_service const&) = delete;
  coordinator_service& operator=(coordinator_service const&) = delete;

  /// Ends every stream with UNAVAILABLE and refuses new ones; their sessions are closed. Completes
  /// when all are gone, after `finish_grace` at most. Comes before the server's stop(). Errors and
  /// cancellation: none. Once only.
  [[nodiscard]] coro::task<void> stop();

  /// Streams alive, those that have not opened a session included.
  [[nodiscard]] std::size_t streams() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace muster::server
