// Options of the web layer, which do not change once the server has started.
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

/// A client that exceeds a time limit is disconnected without a response.
struct web_timeouts {
  std::chrono::milliseconds idle = std::chrono::seconds(75);  // maximum time between two requests
  // Time limit for a request's header. For the first request on a connection, the time starts when
  // the connection is accepted.
  std::chrono::milliseconds header = std::chrono::seconds(10);
  // Time limit for each 64 KiB of a request body.
  std::chrono::milliseconds body = std::chrono::seconds(30);
  // Time limit for each 64 KiB of a response.
  std::chrono::milliseconds write = std::chrono::seconds(30);
  // After this time without a reply from the engine, the request is answered with 503.
  std::chrono::milliseconds engine = std::chrono::seconds(10);
  std::chrono::milliseconds websocket_write = std::chrono::seconds(10);
  // Maximum time without a message from a client.
  std::chrono::milliseconds websocket_ack = std::chrono::seconds(15);
};

struct not_serving {
  std::string detail;
  std::string leader;  // "host:port"; empty if unknown
};

struct web_tls {
  /// The pointer is null if the port uses plaintext. The files must outlive the server.
  net::tls_files const* files = nullptr;
  bool client_required = false;
  bool secure_cookies = false;
};

/// Continues the charts after a restart. Used on the web thread.
struct history_charts {
  /// Returns the previous process's points, oldest first. Called once, when the engine first
  /// replies.
  std::function<std::vector<history::chart_point>()> earlier = [] {
    return std::vector<history::chart_point>();
  };
  std::function<void(history::chart_point const&)> keep = [](auto const&) {};
};

struct web_notifications {
  /// Sends JSON in Slack's format. If null, notifications are disabled.
  std::function<void(std::string json)> send;
  /// Base URL of links. If empty, messages contain no links.
  std::string page;
  std::function<notice_totals()> counts = [] { return notice_totals(); };
};

struct external_services {
  history_charts charts;
  /// The reader is null if the server keeps no history, and must outlive the server.
  server::history_reader* past = nullptr;
  web_notifications notices;
};

struct web_options {
  std::string address = "127.0.0.1";
  unsigned short port = 8477;  // if 0, the system chooses the port
  /// Keeps the listening socket for the next process. Can be null; otherwise it must outlive the
  /// server.
  net::service_manager* manager = nullptr;
  /// Maximum size of a request body. Larger bodies are answered with 413. For an NDJSON append, the
  /// limit applies to each line.
  std::size_t body_limit_bytes = std::size_t{64} << 20;
  std::uint32_t header_limit_bytes = 16 * 1024;
  /// At the limit, a new connection replaces the oldest connection whose first header is
  /// incomplete. If every first header is complete, it replaces the oldest connection whose first
  /// body is incomplete, or else the connection idle longest. If all connections are busy, the
  /// listener stops accepting.
  std::size_t connections_max = 1024;
  /// Limit for each client address, counted separately for connections with an incomplete first
  /// header and with an incomplete first body. At the limit, the oldest connection is closed.
  std::size_t half_open_per_address_max = 256;
  /// File descriptors reserved for requests that arrive when no other descriptor is free.
  std::size_t descriptors_reserved = 8;
  std::function<connection_counts()> grpc_connections = [] { return connection_counts(); };
  /// Called for each request, on the web thread. If it returns a value, every request except /livez
  /// is answered with 503 and Retry-After. Without a leader, the request first waits up to the
  /// engine timeout; /readyz and /healthz wait half a second.
  std::function<std::optional<not_serving>()> waiting = [] { return std::optional<not_serving>(); };
  /// Called when a connection could not be accepted for lack of a file descriptor; this can happen
  /// many times in a row.
  std::function<void()> out_of_descriptors = [] {};
  /// At the limit, WebSocket handshakes are answered with 503 and Retry-After.
  std::size_t websocket_clients_max = 64;
  /// Kernel send buffer of a connection; 0 selects the system default.
  int send_buffer_bytes = 0;
  web_timeouts timeouts;
  std::chrono::milliseconds websocket_tick = std::chrono::milliseconds(500);
  /// Names allowed in the `Host` header (DNS rebinding). On a loopback address, localhost,
  /// 127.0.0.1, [::1] and the address itself are also allowed. On other addresses, an empty list
  /// allows every name.
  std::vector<std::string> allowed_hosts;
  /// Additional origins, such as `https://ops.example`, whose pages can change state or open the
  /// WebSocket.
  std::vector<std::string> allowed_origins;
  /// A null pointer disables the check of credentials. The gate must outlive the server.
  server::gate* gate = nullptr;
  /// In tokens, `default` also refers to this cluster.
  std::string main_cluster = "default";
  std::string version = std::string(muster::version());
  std::uint64_t boot = 0;  // random number that identifies this process
  external_services outlets;
  bool read_only = false;
  /// Path prefix under which a reverse proxy publishes the server, such as "/muster"; empty if it
  /// publishes the root. Requests with and without the prefix are accepted. Pages, redirects and
  /// Location headers contain it. `is_base_path` describes valid values.
  std::string base_path;
  std::string dashboard_dir;  // directory from which the dashboard is served, for development only
  std::string docs_dir;       // directory of the documentation site at /docs/; can be empty
  web_tls tls;
};

}  // namespace muster::web
