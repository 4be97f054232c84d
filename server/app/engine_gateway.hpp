// The web layer's door to the engine thread, as the running server has it.
#pragma once

#include <atomic>

#include "coro/engine_context.hpp"
#include "server/rpc/coordination/cluster_ports.hpp"
#include "web/engine/gateway.hpp"

namespace muster::server {

/// The clusters' ports as the web layer sees them. Engine thread.
class port_doors final : public web::cluster_doors {
 public:
  /// REQUIRES: it outlives this.
  explicit port_doors(cluster_ports& ports) : ports_(ports) {}

  muster::result<std::string> open(core::coordination::cluster_id c) override {
    return ports_.open(c);
  }
  void close(core::coordination::cluster_id c) override { ports_.close(c); }
  std::string address(core::coordination::cluster_id c) const override { return ports_.address(c); }
  core::coordination::cluster_id main() const override { return ports_.main(); }

 private:
  cluster_ports& ports_;
};

class gateway final : public web::engine_gateway {
 public:
  /// REQUIRES: all outlive the gateway and what was posted through it.
  gateway(coro::engine_context& engine, web::engine_room room) : engine_(engine), room_(room) {}

  bool post(std::function<void(web::engine_room&)> work) override {
    if (closed_) return false;
    return engine_.post([this, work = std::move(work)] { work(room_); });
  }
  /// From now on nothing is taken: readiness goes off and requests are answered UNAVAILABLE.
  void close() { closed_ = true; }

 private:
  coro::engine_context& engine_;
  web::engine_room room_;
  std::atomic<bool> closed_ = false;
};

}  // namespace muster::server
