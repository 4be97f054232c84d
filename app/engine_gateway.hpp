// The web layer's door to the engine thread, as the running server has it.
#pragma once

#include <atomic>
#include <functional>

#include "coro/engine_context.hpp"
#include "web/engine/gateway.hpp"

namespace muster::server {

class gateway final : public web::engine_gateway {
 public:
  /// REQUIRES: all outlive the gateway and what was posted through it.
  /// `check` runs before each work and returns if the server may still answer.
  gateway(coro::engine_context& engine, web::engine_services services, std::function<void()> check)
      : engine_(engine), services_(services), check_(std::move(check)) {}

  bool post(std::function<void(web::engine_services&)> work) override {
    if (closed_) return false;
    return engine_.post([this, work = std::move(work)] {
      check_();
      work(services_);
    });
  }
  /// From now on work is taken: the engine runs. Before, as after `close`.
  void open() { closed_ = false; }
  /// From now on nothing is taken: readiness goes off and requests are answered UNAVAILABLE.
  void close() { closed_ = true; }

 private:
  coro::engine_context& engine_;
  web::engine_services services_;
  std::function<void()> const check_;
  std::atomic<bool> closed_ = true;
};

}  // namespace muster::server
