// HTTP: the server with its thread, and its door to the engine thread. Owned by the composition
// root; main thread unless it says any thread.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "app/access/access.hpp"
#include "app/engine_assembly.hpp"
#include "app/perimeter.hpp"
#include "app/store_assembly.hpp"
#include "app/wire_assembly.hpp"
#include "web/engine/gateway.hpp"
#include "web/server/server.hpp"

namespace muster::server {

/// What HTTP asks the engine goes through here, while it is open.
class gateway final : public web::engine_gateway {
 public:
  /// `check` runs before each work and returns if the server may still answer. REQUIRES: all
  /// outlive the gateway and what was posted through it.
  gateway(coro::engine_context& engine, web::engine_services services, standby const& leadership)
      : engine_(engine), services_(services), leadership_(leadership) {}

  bool post(std::function<void(web::engine_services&)> work) override;
  /// From now on work is taken: the engine runs. Before, as after `close`, nothing is, readiness is
  /// off and requests are answered UNAVAILABLE.
  void open() { closed_ = false; }
  void close() { closed_ = true; }

 private:
  coro::engine_context& engine_;
  web::engine_services services_;
  standby const& leadership_;
  std::atomic<bool> closed_ = true;
};

class web_assembly {
 public:
  /// REQUIRES: all outlive it.
  web_assembly(engine_assembly& engine, perimeter& p, store_assembly& store, access& entry,
               wire_assembly& wire);

  /// Listens, starts the thread, which answers 503, and gives "host:port". start_error.
  std::string start();
  server::gateway& gateway() { return gateway_; }
  /// Any thread.
  void end_all_of(std::string const& token) { server_.end_all_of(token); }
  /// Exchanges in flight have this long. REQUIRES: it was started.
  void stop(std::chrono::milliseconds grace);

 private:
  server::gateway gateway_;
  web::web_server server_;
  std::thread thread_;
};

}  // namespace muster::server
