// What the web layer can be told: address, limits, time limits, whom it trusts. Plain data, fixed
// once the server has started.
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
#include "server/history/metrics/past_point.hpp"
#include "server/net/service_manager.hpp"
#include "server/net/tls_files.hpp"

namespace muster::server {
class gate;
class past_reader;
}  // namespace muster::server

namespace muster::web {

/// How long the other side may take. Whoever takes longer is disconnected without an answer.
struct web_timeouts {
  std::chrono::milliseconds idle = std::chrono::seconds(75);  // between two requests
  // From the first byte of a request to the end of its header; of the first request from when the
  // connection was accepted.
  std::chrono::milliseconds header = std::chrono::seconds(10);
  std::chrono::milliseconds body = std::chrono::seconds(30);    // for each 64 KiB of it
  std::chrono::milliseconds write = std::chrono::seconds(30);   // for each 64 KiB of an answer
  std::chrono::milliseconds engine = std::chrono::seconds(10);  // an answer from the engine: 503
  std::chrono::milliseconds websocket_write = std::chrono::seconds(10);  // one message
  std::chrono::milliseconds websocket_ack = std::chrono::seconds(15);    // silence of a client
};

/// Why the server answers nothing yet: it reads what it knows, or another one serves.
struct not_serving {
  std::string detail;
  std::string leader;  // "host:port" of that one; empty: not known
};

struct web_tls {
  /// The certificate that is shown; null: the port speaks plaintext. Outlives the server.
  net::tls_files const* files = nullptr;
  /// Where clients are asked for a certificate, those without one are refused.
  bool client_required = false;
  /// Cookies are for encrypted connections only.
  bool secure_cookies = false;
};

/// What the whole server's charts have in common with those of the process before. Web thread.
struct past_charts {
  /// Their points, oldest first; asked for once, when the engine answers.
  std::function<std::vector<history::past_point>()> earlier = [] {
    return std::vector<history::past_point>();
  };
  /// Where each new one goes.
  std::function<void(history::past_point const&)> keep = [](auto const&) {};
};

/// Who does not look is told of alerts. Web thread.
struct web_notices {
  /// Where a notice goes, JSON in Slack's form; null: nobody is told.
  std::function<void(std::string json)> send;
  /// In front of links, "https://muster.example"; empty: there are none.
  std::string page;
  std::function<notice_totals()> counts = [] { return notice_totals(); };
};

/// What the web layer has for others than its clients.
struct web_outlets {
  past_charts charts;
  /// What is on disk of the past; null: nothing. Outlives the server.
  server::past_reader* past = nullptr;
  web_notices notices;
};

struct web_options {
  std::string address = "127.0.0.1";
  unsigned short port = 8477;  // 0: the system picks one
  /// Keeps the listening socket for the next process; null: nobody does. Outlives the server.
  net::service_manager* manager = nullptr;
  /// Larger bodies are answered 413. An NDJSON append is unlimited, each of its lines is not.
  std::size_t body_limit_bytes = std::size_t{64} << 20;
  /// Longer request headers are answered 431.
  std::uint32_t header_limit_bytes = 16 * 1024;
  /// Full: the next one takes the place of the oldest whose first header is incomplete, else of the
  /// oldest whose first body is, else of the one that is idle for longest. While all of them are at
  /// work the listener stops accepting; the system queues or refuses.
  std::size_t connections_max = 1024;
  /// Connections of one address whose first header is incomplete, and as many whose first body is.
  /// Full: the oldest makes room.
  std::size_t half_open_per_address_max = 256;
  /// Held back for requests that come when the process has no other descriptor left.
  std::size_t descriptors_reserved = 8;
  /// What the gRPC ports count, for /metrics.
  std::function<connection_counts()> grpc_connections = [] { return connection_counts(); };
  /// Asked for each request, on the web thread. While it gives something, that is the answer to
  /// everything but /livez: 503 with Retry-After. If it names nobody who serves, requests wait for
  /// this server first, as long as for an engine that is busy, those for /readyz half a second.
  std::function<std::optional<not_serving>()> waiting = [] { return std::optional<not_serving>(); };
  /// Called when a connection could not be accepted for want of a descriptor, which may be often.
  std::function<void()> out_of_descriptors = [] {};
  /// Full: the handshake is answered 503 with Retry-After.
  std::size_t websocket_clients_max = 64;
  /// Kernel send buffer of a connection; 0 leaves it to the system.
  int send_buffer_bytes = 0;
  web_timeouts timeouts;
  /// How often subscribed WebSocket clients get what changed.
  std::chrono::milliseconds websocket_tick = std::chrono::milliseconds(500);
  /// Names a `Host` header may carry. On a loopback address localhost, 127.0.0.1, [::1] and the
  /// address itself are allowed as well and everything else is refused (DNS rebinding); on any
  /// other address an empty list allows every name.
  std::vector<std::string> allowed_hosts;
  /// Origins (`https://ops.example`) whose pages may change state or open the WebSocket, besides
  /// the server's own.
  std::vector<std::string> allowed_origins;
  /// Judges who asks. Null: nobody is asked. Outlives the server.
  server::gate* gate = nullptr;
  /// The name that tokens have for the main cluster, besides `default`.
  std::string main_cluster = "default";
  std::string version = std::string(muster::version());
  std::uint64_t boot = 0;  // random; tells this run of the server from the one before
  web_outlets outlets;
  /// The server is read-only: it shows the data of a stopped server and refuses changes.
  bool read_only = false;
  std::string dashboard_dir;  // serve the page from this directory, for its developers
  web_tls tls;
};

}  // namespace muster::web
