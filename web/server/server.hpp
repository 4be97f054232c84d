// Serves REST, WebSocket, metrics, health and the dashboard on one port, on its own thread. Owned
// by the composition root. listen() must be called before run(). run() is called on the web thread;
// stop() is thread-safe. Exposes no Asio or Beast types.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "web/http/web_options.hpp"

namespace muster::net {
struct proxy_rules;
}

namespace muster::web {

class engine_gateway;

class web_server {
 public:
  /// REQUIRES: the gateway outlives the server.
  web_server(web_options options, engine_gateway& engine);
  /// Relays report the address of the client.
  web_server(web_options options, engine_gateway& engine, net::proxy_rules const& relays);
  /// REQUIRES: run() has returned or was never called.
  ~web_server();
  web_server(web_server const&) = delete;
  web_server& operator=(web_server const&) = delete;

  /// Returns the bound "host:port", or UNAVAILABLE or INVALID_ARGUMENT with the address in the
  /// message.
  muster::result<std::string> listen();

  /// REQUIRES: listen() succeeded.
  void run();

  /// Closes the connections, including WebSockets, whose last request used this token. A request
  /// that ends its own token is answered first. Asynchronous and thread-safe.
  void end_all_of(std::string const& token);

  /// Stops accepting, lets pending requests finish for at most `grace`, then closes the remaining
  /// connections, after which run() returns. Thread-safe; can be called any number of times.
  void stop(std::chrono::milliseconds grace);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace muster::web
