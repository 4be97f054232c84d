// The services that all handlers can use. Each web_server has its own context. Used on the web
// thread.
#pragma once

#include <chrono>

#include "web/engine/engine_link.hpp"
#include "web/http/route.hpp"
#include "web/http/web_options.hpp"
#include "web/rest/server_load.hpp"
#include "web/rest/sign_ins.hpp"

namespace muster::web {

class asset_store;
class websocket_hub;
struct web_metrics;

struct web_context {
  web_options const& options;
  engine_link& engine;
  std::vector<route> const& routes;
  asset_store& assets;
  web_metrics& metrics;
  websocket_hub& sockets;
  sign_in_table sign_ins{};
  server_load load{};
};

}  // namespace muster::web
