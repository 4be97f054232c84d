// The HTTP server with its thread, and its access to the engine thread. Owned by the composition
// root. Used on the main thread unless stated otherwise.
#pragma once

#include <string>
#include <thread>

#include "app/access/access.hpp"
#include "app/engine_assembly.hpp"
#include "app/history/history_keeper.hpp"
#include "app/perimeter.hpp"
#include "app/store_assembly.hpp"
#include "app/torch/torch_assembly.hpp"
#include "app/webhooks/webhook_sender.hpp"
#include "app/wire_assembly.hpp"
#include "web/engine/engine_link.hpp"
#include "web/server/server.hpp"

namespace muster::server {

class web_assembly {
 public:
  /// @param webhooks Null if alerts are not sent.
  /// @pre All arguments outlive this object.
  web_assembly(engine_assembly& engine, perimeter& p, store_assembly& store, access& entry,
               wire_assembly& wire, torch_assembly& torch, history_keeper& history,
               webhook_sender* webhooks);

  /// Listens, starts the thread, which first answers 503, and returns "host:port".
  /// @throws start_error
  std::string start();
  web::engine_gateway& gateway() { return gateway_; }
  /// Thread-safe.
  void end_all_of(std::string const& token) { server_.end_all_of(token); }
  /// Requests in progress have `grace` to finish.
  /// @pre start() was called.
  void stop(std::chrono::milliseconds grace);

 private:
  web::engine_gateway gateway_;
  web::web_server server_;
  std::thread thread_;
};

}  // namespace muster::server
