// The web layer's door to the engine thread, as the running server has it.
#pragma once

#include <atomic>

#include "coro/engine_context.hpp"
#include "web/gateway.hpp"

namespace muster::server {

class gateway final : public web::engine_gateway {
 public:
  /// REQUIRES: both outlive the gateway and what was posted through it.
  gateway(coro::engine_context& engine, hub& h) : engine_(engine), hub_(h) {}

  bool post(std::function<void(hub&)> work) override {
    if (closed_) return false;
    return engine_.post([this, work = std::move(work)] { work(hub_); });
  }
  /// From now on nothing is taken: readiness goes off and requests are answered UNAVAILABLE.
  void close() { closed_ = true; }

 private:
  coro::engine_context& engine_;
  hub& hub_;
  std::atomic<bool> closed_ = false;
};

}  // namespace muster::server
