// The web layer without an engine, for fuzz targets: requests are checked as in a server, and each
// call of the engine is answered with UNAVAILABLE at once. Uses no thread and no socket.
#pragma once

#include <boost/asio/io_context.hpp>
#include <string>
#include <vector>

#include "coro/engine_context.hpp"
#include "server/hub/blob_store.hpp"
#include "server/hub/cluster_endpoints.hpp"
#include "server/hub/coordination_hub.hpp"
#include "server/hub/event_log.hpp"
#include "server/hub/pools.hpp"
#include "web/engine/engine_link.hpp"
#include "web/live/websocket_hub.hpp"
#include "web/metrics/metrics.hpp"
#include "web/rest/web_context.hpp"
#include "web/server/assets.hpp"

namespace fuzz {

/// Returns a reference to memory without an object, for a dependency that is never used.
template <class T>
T& absent() {
  alignas(T) static unsigned char memory[sizeof(T)];
  return *static_cast<T*>(static_cast<void*>(memory));
}

/// The gateway is never opened, so that no function reaches the absent services.
struct closed_web {
  boost::asio::io_context context{1};
  muster::web::web_options options;
  muster::web::web_metrics metrics;
  muster::web::engine_gateway gateway{
      absent<muster::coro::engine_context>(),
      [] {},
      {absent<muster::server::pools>(), absent<muster::server::coordination_hub>(),
       absent<muster::server::event_log>(), absent<muster::server::cluster_endpoints>(),
       absent<muster::server::blob_store>(), nullptr, nullptr}};
  muster::web::engine_link link{context, gateway, options.timeouts.engine};
  std::vector<muster::web::route> routes = muster::web::all_routes();
  muster::web::asset_store assets{std::string()};
  muster::web::websocket_hub sockets{context, options, link, metrics};
  muster::web::web_context all{options, link, routes, assets, metrics, sockets};
};

inline closed_web& closed() {
  static closed_web web;
  return web;
}

}  // namespace fuzz
