// One caller that watches the server's health: gets the newest status whenever it differs from what
// he was told last, so a slow reader costs nothing. Lives in the frame of its call's handler;
// engine thread only.
#pragma once

#include <grpcpp/impl/codegen/proto_utils.h>

#include <chrono>
#include <functional>

#include "coro/event.hpp"
#include "coro/server_bidi.hpp"
#include "coro/timer_queue.hpp"
#include "grpc/health/v1/health.pb.h"

namespace muster::server {

class health_watch {
 public:
  using request = grpc::health::v1::HealthCheckRequest;
  using response = grpc::health::v1::HealthCheckResponse;
  using call = coro::server_bidi<request, response>;
  using look_up = std::function<response::ServingStatus(std::string const& service)>;

  health_watch(call& c, look_up status);
  health_watch(health_watch const&) = delete;

  /// Completion: the caller has gone or was told the end. Errors: none. Cancellation: `terminal`
  /// cancels the call.
  [[nodiscard]] coro::task<void> run();

  /// The status may have changed.
  void changed() { changed_.set(); }
  /// Ends the call with UNAVAILABLE.
  void shut_down();

 private:
  call& call_;
  look_up status_;
  request request_;
  response response_;
  coro::event changed_;
  coro::timer deadline_;  // of the request, then of the end
  bool gone_ = false;
  bool stopping_ = false;
};

}  // namespace muster::server
