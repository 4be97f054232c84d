// muster.v1.CoordinatorService: those who schedule closures, by stream (one session_stream each;
// this keeps the list and ends them) or by call (coordinator_calls). Owned by the composition root,
// below the grpc_server; engine thread only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "coro/grpc_server.hpp"
#include "coro/task.hpp"
#include "server/hub/hub.hpp"

namespace muster::server {

struct coordinator_service_options {
  /// From the stream's start to its open; then it ends with DEADLINE_EXCEEDED.
  std::chrono::milliseconds open_timeout{10'000};
  /// A stream that was told its end and does not take it is cut after this.
  std::chrono::milliseconds finish_grace{5'000};
  /// Streams at one time. More: RESOURCE_EXHAUSTED.
  std::size_t streams_max = 20'000;
  /// Told to clients in opened.
  std::uint64_t server_incarnation = 0;
  std::string server_version;
};

class coordinator_service {
 public:
  /// Adds itself to `server`. REQUIRES: before server.start(); hub and server outlive the service.
  coordinator_service(hub& hub, coro::grpc_server& server,
                      coordinator_service_options options = {});
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
