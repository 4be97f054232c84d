// Options of the web layer: address, limits, timeouts and trusted names. Fixed once the server has
// started.
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

/// Time limits for clients. A client that exceeds a limit is disconnected without a response.
struct web_timeouts {
  std::chrono::milliseconds idle = std::chrono::seconds(75);  // between two requests
  // From the first byte of a request to the end of its header. For the first request on a
  // connection, the time starts when the connection is accepted.
  std::chrono::milliseconds header = std::chrono::seconds(10);
  std::chrono::milliseconds body = std::chrono::seconds(30);   // for each 64 KiB of a request body
  std::chrono::milliseconds write = std::chrono::seconds(30);  // for each 64 KiB of a response
  // Maximum time for a reply from the engine; after that, the request is answered 503.
  std::chrono::milliseconds engine = std::chrono::seconds(10);
  std::chrono::milliseconds websocket_write = std::chrono::seconds(10);  // for each message
  // Maximum time without a message from a client.
  std::chrono::milliseconds websocket_ack = std::chrono::seconds(15);
};

/// The reason why the server is not serving yet: it is loading its data, or another server is the
/// leader.
struct not_serving {
  std::string detail;
  std::string leader;  // "host:port" of the leader; empty if unknown
};

struct web_tls {
  /// The server's certificate; null if the port uses plaintext. Must outlive the server.
  net::tls_files const* files = nullptr;
  /// Clients must present a certificate.
  bool client_required = false;
  /// Session cookies are marked Secure.
  bool secure_cookies = false;
};

/// Continues the charts of the whole server after a restart. Web thread.
struct history_charts {
  /// Returns the points that the previous process recorded, oldest first. Called once, when the
  /// engine first replies.
  std::function<std::vector<history::chart_point>()> earlier = [] {
    return std::vector<history::chart_point>();
  };
  std::function<void(history::chart_point const&)> keep = [](auto const&) {};
};

/// Sends alerts to people who do not have the dashboard open. Web thread.
struct web_notifications {
  /// Sends a notification as JSON in Slack's format; null if notifications are disabled.
  std::function<void(std::string json)> send;
  /// Base URL of links, for example "https://muster.example"; if empty, notifications contain no
  /// links.
  std::string page;
  std::function<notice_totals()> counts = [] { return notice_totals(); };
};

struct external_services {
  history_charts charts;
  /// Reads history from disk; null if the server keeps no history. Must outlive the server.
  server::history_reader* past = nullptr;
  web_notifications notices;
};

struct web_options {
  std::string address = "127.0.0.1";
  unsigned short port = 8477;  // 0 lets the system choose
  /// Keeps the listening socket for the next process; null if the socket is not kept. Must outlive
  /// the server.
  net::service_manager* manager = nullptr;
  /// Larger bodies are answered 413. An NDJSON append can be longer, but each of its lines has this
  /// limit.
  std::size_t body_limit_bytes = std::size_t{64} << 20;
  std::uint32_t header_limit_bytes = 16 * 1024;
  /// At the limit, a new connection replaces the oldest connection whose first header is
  /// incomplete. If there is none, it replaces the oldest one whose first body is incomplete, or
  /// else the one idle longest. If all connections are busy, the listener stops accepting, and the
  /// system queues or rejects new connections.
  std::size_t connections_max = 1024;
  /// Limit for each client address. Applies separately to connections whose first header is
  /// incomplete and to those whose first body is incomplete. At the limit, the oldest connection is
  /// closed.
  std::size_t half_open_per_address_max = 256;
  /// File descriptors reserved for requests that arrive when the process has no other descriptors
  /// left.
  std::size_t descriptors_reserved = 8;
  /// Returns the connection counts of the gRPC ports, for /metrics.
  std::function<connection_counts()> grpc_connections = [] { return connection_counts(); };
  /// Called for each request, on the web thread. If it returns a value, the server is not serving:
  /// every request except /livez is answered 503 with Retry-After. If the value names no leader,
  /// the request first waits up to the engine timeout; /readyz and /healthz wait half a second.
  std::function<std::optional<not_serving>()> waiting = [] { return std::optional<not_serving>(); };
  /// Called when a connection could not be accepted because no file descriptor was free; this can
  /// happen many times in a row.
  std::function<void()> out_of_descriptors = [] {};
  /// At the limit, a handshake is answered 503 with Retry-After.
  std::size_t websocket_clients_max = 64;
  /// Size of a connection's kernel send buffer; 0 selects the system default.
  int send_buffer_bytes = 0;
  web_timeouts timeouts;
  /// Interval at which subscribed WebSocket clients receive changes.
  std::chrono::milliseconds websocket_tick = std::chrono::milliseconds(500);
  /// Names allowed in the `Host` header, as protection against DNS rebinding. On a loopback
  /// address, localhost, 127.0.0.1, [::1] and the address itself are also allowed, and all other
  /// names are rejected. On other addresses, an empty list allows every name.
  std::vector<std::string> allowed_hosts;
  /// Origins such as `https://ops.example`, in addition to the server's own, that can change state
  /// or open the WebSocket.
  std::vector<std::string> allowed_origins;
  /// Checks the credentials of callers; null disables the check. Must outlive the server.
  server::gate* gate = nullptr;
  /// Alternative name of the main cluster in tokens, in addition to `default`.
  std::string main_cluster = "default";
  std::string version = std::string(muster::version());
  std::uint64_t boot = 0;  // random identifier of this server process
  external_services outlets;
  /// The server shows the data of a stopped server and refuses changes.
  bool read_only = false;
  std::string dashboard_dir;  // for development: directory from which the dashboard is served
  web_tls tls;
};

}  // namespace muster::web
