// One HTTP connection: reads a request, has it answered, writes the answer, again; and hands itself
// over when a request upgrades to a WebSocket. Runs as one task of the web server's group, web
// thread.
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

/// What the server may do to a connection that lives in its task.
class open_connection {
 public:
  virtual ~open_connection() = default;
  /// Ends after the exchange in flight; at once when there is none.
  virtual void finish() = 0;
  /// Ends now.
  virtual void abort() = 0;
  /// Returns whether its last request came with this token.
  virtual bool is_of(std::string const& token) const = 0;
  /// Ends the connection of a token that has ended: at once, or after the answer to the request
  /// that ended the token.
  virtual void end_access() = 0;
};

/// The connections that are open. REQUIRES: outlives them.
struct connection_set {
  explicit connection_set(std::size_t half_open_per_address_max)
      : half_open(half_open_per_address_max) {}

  std::unordered_set<open_connection*> open;
  /// Those whose first request lacks a part of its body; 64 KiB of it are enough, too.
  half_open_table<open_connection> half_open;
  /// Those between two requests, the longest first.
  std::list<open_connection*> idle;
  /// Of `open`, those that were aborted and are about to go.
  std::size_t leaving = 0;
  /// Places are scarce: connections end after the exchange in flight.
  bool scarce = false;
  bool stopping = false;
};

/// A client whose first words are there: its first header, or the start of TLS where `tls` is set.
struct accepted_client {
  boost::asio::ip::tcp::socket socket;
  boost::asio::ip::address address;  // its own, or that of who is behind a relay
  std::shared_ptr<boost::asio::ssl::context> tls;
};

/// Completes when the connection has ended. `network`: see peer_network. Errors: none, whatever the
/// peer does.
coro::task<void> serve_connection(web_context& context, connection_set& connections,
                                  accepted_client client, std::uint64_t network);

}  // namespace muster::web
