// One HTTP connection: reads a request, has it answered, writes the answer, again; and hands itself
// over when a request upgrades to a WebSocket. Runs as one task of the web server's group, web
// thread.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <unordered_set>

#include "coro/task.hpp"
#include "web/rest/context.hpp"

namespace muster::web {

/// What the server may do to a connection that lives in its task.
class open_connection {
 public:
  virtual ~open_connection() = default;
  /// Ends after the exchange in flight; at once when there is none.
  virtual void finish() = 0;
  /// Ends now.
  virtual void abort() = 0;
};

/// The connections that are open. REQUIRES: outlives them.
struct connection_set {
  std::unordered_set<open_connection*> open;
  bool stopping = false;
};

/// Completes when the connection has ended. Errors: none, whatever the peer does.
coro::task<void> serve_connection(web_context& context, connection_set& connections,
                                  boost::asio::ip::tcp::socket socket);

}  // namespace muster::web
