// An HTTP connection: reads requests, passes each to its handler and writes the response. A request
// that upgrades to a WebSocket takes over the connection. Each connection is a task of the web
// server's group, on the web thread.
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
  /// Closes the connection after the current exchange, or immediately if it is idle.
  virtual void finish() = 0;
  virtual void abort() = 0;
  virtual bool is_of(std::string const& token) const = 0;
  /// Called if the token was revoked or has expired. If the current request revoked the token, it
  /// is answered first.
  virtual void end_access() = 0;
};

/// REQUIRES: this object outlives the connections.
struct connection_set {
  explicit connection_set(std::size_t half_open_per_address_max)
      : half_open(half_open_per_address_max) {}

  std::unordered_set<open_connection*> open;
  /// Connections whose first request is incomplete. A request counts as complete after 64 KiB of
  /// its body.
  half_open_table<open_connection> half_open;
  /// Connections between two requests, longest idle first.
  std::list<open_connection*> idle;
  std::size_t leaving = 0;
  /// Few file descriptors are free; connections close after the current exchange.
  bool scarce = false;
  bool stopping = false;
};

/// A client that has sent its first header, or the start of a TLS handshake if `tls` is set.
struct accepted_client {
  boost::asio::ip::tcp::socket socket;
  boost::asio::ip::address address;  // client address, even behind a relay
  std::shared_ptr<boost::asio::ssl::context> tls;
};

/// Completes when the connection has ended. `network` is the result of peer_network(). Never fails,
/// whatever the peer sends.
coro::task<void> serve_connection(web_context& context, connection_set& connections,
                                  accepted_client client, std::uint64_t network);

}  // namespace muster::web
