// The HTTP side of Muster: REST, WebSocket, metrics, health and the dashboard on one port, served
// by one thread of its own. Owned by the composition root. `run` is called on the web thread,
// `stop` from any thread, `listen` before `run`. No Asio or Beast type shows here.
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
  /// The same behind relays that say on whose behalf they connect.
  web_server(web_options options, engine_gateway& engine, net::proxy_rules const& relays);
  /// REQUIRES: `run` has returned or was never called.
  ~web_server();
  web_server(web_server const&) = delete;
  web_server& operator=(web_server const&) = delete;

  /// Opens the listening socket; gives the bound "host:port". UNAVAILABLE or INVALID_ARGUMENT with
  /// a text that names the address.
  muster::result<std::string> listen();

  /// Serves until stopped. REQUIRES: `listen` succeeded.
  void run();

  /// Closes the connections whose last request came with this token, WebSockets included. A request
  /// that ended the token itself is answered first. Soon; any thread.
  void end_all_of(std::string const& token);

  /// Stops accepting, lets exchanges in flight finish for at most `grace`, then closes what is
  /// left; `run` returns after that. Any thread, any number of times.
  void stop(std::chrono::milliseconds grace);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace muster::web
