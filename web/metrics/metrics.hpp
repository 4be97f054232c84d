// Counters of the web layer itself. Each web_server has its own counters. Used on the web thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "base/connection_counts.hpp"
#include "base/notice_totals.hpp"

namespace muster::web {

struct web_metrics {
  std::array<std::uint64_t, 600> requests{};
  std::uint64_t connections = 0;  // currently open connections
  std::uint64_t connections_total = 0;
  connection_counts listener;  // excludes connections that have not sent a request
  std::function<connection_counts()> http_listener = [] { return connection_counts(); };
  std::function<connection_counts()> grpc_listener = [] { return connection_counts(); };
  std::function<notice_totals()> notices = [] { return notice_totals(); };
  std::uint64_t websocket_clients = 0;  // currently open WebSockets
  std::uint64_t websocket_clients_total = 0;
  std::uint64_t websocket_messages = 0;
  std::uint64_t websocket_bytes = 0;
  // Clients that were disconnected because they read too slowly.
  std::uint64_t websocket_slow = 0;
  // Returns the expiry as Unix time; empty without TLS.
  std::function<std::int64_t()> certificate_expiry;

  void count(unsigned status) { ++requests[status < requests.size() ? status : 0]; }
};

}  // namespace muster::web
