// What every handler may use. One per web_server, web thread.
#pragma once

#include <chrono>

#include "web/engine_link.hpp"
#include "web/metrics.hpp"
#include "web/router.hpp"
#include "web/server.hpp"

namespace muster::web {

class asset_store;
class websocket_hub;

struct web_context {
  web_options const& options;
  engine_link& engine;
  router const& routes;
  asset_store const& assets;
  web_metrics& metrics;
  websocket_hub& sockets;
};

}  // namespace muster::web
