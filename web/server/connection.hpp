// An HTTP connection: reads requests, passes each to its handler and writes the answer. A request
// that upgrades to a WebSocket takes over the connection. Runs as one task of the web server's
// group, on the web thread.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_set>

#include "base/half_open.hpp"
#include "coro/task.hpp"
#include "web/rest/web_context.hpp"

namespace muster::web {

class open_connection {
 public:
  virtual ~open_connection() = default;
  /// Ends the connection after the current exchange; at once if it is idle.
  virtual void finish() = 0;
  virtual void abort() = 0;
  /// Returns whether the last request was sent with this token.
  virtual bool is_of(std::string const& token) const = 0;
  /// Ends the connection because its token was revoked or has expired: at once, or after the answer
  /// to the request that revoked the token.
  virtual void end_access() = 0;
};

/// The open connections. REQUIRES: outlives them.
struct connection_set {
  explicit connection_set(std::size_t half_open_per_address_max)
      : half_open(half_open_per_address_max) {}

  std::unordered_set<open_connection*> open;
  /// Connections whose first request is incomplete; 64 KiB of its body count as complete.
  half_open_table<open_connection> half_open;
  /// Connections between two requests, ordered by idle time, the longest first.
  std::list<open_connection*> idle;
  /// Number of connections in `open` that were aborted and have not ended yet.
  std::size_t leaving = 0;
  /// Set while file descriptors are scarce: connections then end after the current exchange.
  bool scarce = false;
  bool stopping = false;
};

/// A client that has sent its first header, or the start of a TLS handshake if `tls` is set.
struct accepted_client {
  boost::asio::ip::tcp::socket socket;
  boost::asio::ip::address address;  // of the client, also behind a relay
  std::shared_ptr<boost::asio::ssl::context> tls;
};

/// Serves a connection and completes when it has ended. `network`: see peer_network(). Never fails,
/// whatever the peer sends.
coro::task<void> serve_connection(web_context& context, connection_set& connections,
                                  accepted_client client, std::uint64_t network);

}  // namespace muster::web
