// Options of the web layer: address, limits, timeouts and trusted names. Plain data, fixed once the
// server has started.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/connection_counts.hpp"
#include "base/notice_totals.hpp"
#include "base/version.hpp"
#include "server/history/metrics/chart_point.hpp"
#include "server/net/service_manager.hpp"
#include "server/net/tls_files.hpp"

namespace muster::server {
class gate;
class history_reader;
}  // namespace muster::server

namespace muster::web {

/// Time limits for the peer. A peer that exceeds one is disconnected without an answer.
struct web_timeouts {
  std::chrono::milliseconds idle = std::chrono::seconds(75);  // between two requests
  // From the first byte of a request to the end of its header. For the first request, the time
  // starts when the connection is accepted.
  std::chrono::milliseconds header = std::chrono::seconds(10);
  std::chrono::milliseconds body = std::chrono::seconds(30);   // for each 64 KiB of a body
  std::chrono::milliseconds write = std::chrono::seconds(30);  // for each 64 KiB of an answer
  // Maximum time for an answer from the engine. Then the request is answered 503.
  std::chrono::milliseconds engine = std::chrono::seconds(10);
  std::chrono::milliseconds websocket_write = std::chrono::seconds(10);  // for one message
  // Maximum time without a message from a client.
  std::chrono::milliseconds websocket_ack = std::chrono::seconds(15);
};

/// Why the server does not serve yet: it is loading its data, or another server is the leader.
struct not_serving {
  std::string detail;
  std::string leader;  // "host:port" of the leader; empty: unknown
};

struct web_tls {
  /// The server's certificate; null: the port uses plaintext. Outlives the server.
  net::tls_files const* files = nullptr;
  /// Clients are asked for a certificate, and those without one are rejected.
  bool client_required = false;
  /// Browsers send cookies over encrypted connections only.
  bool secure_cookies = false;
};

/// Continues the charts of the whole server across a restart. Web thread.
struct history_charts {
  /// Returns the points of the previous process, oldest first. Called once, when the engine
  /// answers.
  std::function<std::vector<history::chart_point>()> earlier = [] {
    return std::vector<history::chart_point>();
  };
  std::function<void(history::chart_point const&)> keep = [](auto const&) {};
};

/// Sends alerts to people without an open dashboard. Web thread.
struct web_notifications {
  /// Sends a notice as JSON in Slack's format; null: notices are off.
  std::function<void(std::string json)> send;
  /// Base URL of links, for example "https://muster.example"; empty: no links.
  std::string page;
  std::function<notice_totals()> counts = [] { return notice_totals(); };
};

/// Services outside the web layer that it uses.
struct external_services {
  history_charts charts;
  /// Reads history from disk; null: there is none. Outlives the server.
  server::history_reader* past = nullptr;
  web_notifications notices;
};

struct web_options {
  std::string address = "127.0.0.1";
  unsigned short port = 8477;  // 0: the system picks one
  /// Keeps the listening socket for the next process; null: it is not kept. Outlives the server.
  net::service_manager* manager = nullptr;
  /// Larger bodies are answered 413. An NDJSON append may be longer, but none of its lines.
  std::size_t body_limit_bytes = std::size_t{64} << 20;
  /// Longer request headers are answered 431.
  std::uint32_t header_limit_bytes = 16 * 1024;
  /// At the limit, a new connection replaces another: the oldest whose first header is incomplete,
  /// else the oldest whose first body is incomplete, else the longest idle. If all are busy, the
  /// listener stops accepting; the system then queues or rejects connections.
  std::size_t connections_max = 1024;
  /// Limit per address for connections whose first header is incomplete, and separately for those
  /// whose first body is. At the limit, the oldest is closed.
  std::size_t half_open_per_address_max = 256;
  /// File descriptors kept in reserve for requests that arrive when the process has no others left.
  std::size_t descriptors_reserved = 8;
  /// Connection counts of the gRPC ports, for /metrics.
  std::function<connection_counts()> grpc_connections = [] { return connection_counts(); };
  /// Called for each request, on the web thread. A result means that the server does not serve:
  /// everything except /livez is answered 503 with Retry-After. If the result names no leader,
  /// requests first wait as long as for a busy engine; /readyz and /healthz wait half a second.
  std::function<std::optional<not_serving>()> waiting = [] { return std::optional<not_serving>(); };
  /// Called, possibly many times in a row, when a connection could not be accepted because no file
  /// descriptor was free.
  std::function<void()> out_of_descriptors = [] {};
  /// At the limit, the handshake is answered 503 with Retry-After.
  std::size_t websocket_clients_max = 64;
  /// Kernel send buffer of a connection; 0: the system's default.
  int send_buffer_bytes = 0;
  web_timeouts timeouts;
  /// How often subscribed WebSocket clients receive changes.
  std::chrono::milliseconds websocket_tick = std::chrono::milliseconds(500);
  /// Names that a `Host` header may contain (protects against DNS rebinding). On a loopback
  /// address, localhost, 127.0.0.1, [::1] and the address itself are also allowed, and all other
  /// names are rejected. On other addresses, an empty list allows every name.
  std::vector<std::string> allowed_hosts;
  /// Origins (`https://ops.example`) other than the server's own that may change state or open the
  /// WebSocket.
  std::vector<std::string> allowed_origins;
  /// Checks the credentials of callers; null: no check. Outlives the server.
  server::gate* gate = nullptr;
  /// The name of the main cluster in tokens, in addition to `default`.
  std::string main_cluster = "default";
  std::string version = std::string(muster::version());
  std::uint64_t boot = 0;  // random; identifies this run of the server
  external_services outlets;
  /// The server is read-only: it shows the data of a stopped server and refuses changes.
  bool read_only = false;
  std::string dashboard_dir;  // for developers: serve the dashboard from this directory
  web_tls tls;
};

}  // namespace muster::web
