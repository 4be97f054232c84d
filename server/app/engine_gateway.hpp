// The web layer's door to the engine thread, as the running server has it.
#pragma once

#include <atomic>
#include <memory>

#include "coro/engine_context.hpp"
#include "web/gateway.hpp"

namespace muster::server {

/// Coordination for a server that has no agents' ports: one cluster, `default`, of closure workers
/// alone, and no clock that would drive its time limits.
struct workers_only {
  explicit workers_only(hub& h) : room{h, coordination, events, doors} {
    core::coordination::add_standalone(types);
    (void)coordination.create({});
  }

  struct no_doors final : web::cluster_doors {
    core::result<std::string> open(core::coordination::cluster_id) override {
      return core::status{core::code::unimplemented, "this server opens no ports for clusters"};
    }
    void close(core::coordination::cluster_id) override {}
    std::string address(core::coordination::cluster_id) const override { return {}; }
    core::coordination::cluster_id main() const override {
      return core::coordination::cluster_id{1};
    }
  };

  core::coordination::service_registry types;
  event_log events;
  no_doors doors;
  web::engine_room room;
  coordination_hub coordination{{},
                                types,
                                1,
                                {.now = [this] { return room.hub.now(); },
                                 .arm = [](core::time_point) {},
                                 .tell = [](core::coordination::notice const&) {}}};
};

class gateway final : public web::engine_gateway {
 public:
  /// REQUIRES: all outlive the gateway and what was posted through it.
  gateway(coro::engine_context& engine, web::engine_room room) : engine_(engine), room_(room) {}
  gateway(coro::engine_context& engine, hub& h)
      : engine_(engine), alone_(std::make_unique<workers_only>(h)), room_(alone_->room) {}

  bool post(std::function<void(web::engine_room&)> work) override {
    if (closed_) return false;
    return engine_.post([this, work = std::move(work)] { work(room_); });
  }
  /// From now on nothing is taken: readiness goes off and requests are answered UNAVAILABLE.
  void close() { closed_ = true; }

 private:
  coro::engine_context& engine_;
  std::unique_ptr<workers_only> alone_;
  web::engine_room room_;
  std::atomic<bool> closed_ = false;
};

}  // namespace muster::server
