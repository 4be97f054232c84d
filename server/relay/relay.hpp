// Accepts connections and forwards each connection to the leader among several servers. Finds the
// leader by checking `/readyz` on all servers. While there is no leader, new connections are held:
// accepted, but not read. Used only on the thread of its io_context. States of a connection:
//
//   accepted --held--> connected to the leader --relayed--> closed on both sides
//
// A held connection is reset after hold_max without a leader, or when the client disconnects. A
// relayed connection is reset on both sides when one side breaks or its server is no longer the
// leader.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/host_port.hpp"
#include "coro/task.hpp"
#include "server/relay/secure.hpp"

namespace muster::relay {

namespace asio = boost::asio;

struct upstream {
  host_port where;  // address to forward connections to
  host_port http;   // address of `/readyz`
};

struct relay_options {
  std::vector<upstream> upstreams;
  /// At either limit, the relay stops accepting, and clients wait in the backlog.
  std::size_t connections_max = 10'000;  // held and relayed connections
  std::size_t held_max = 4'096;
  std::chrono::milliseconds hold_max = std::chrono::seconds(60);
  std::chrono::milliseconds check_every = std::chrono::milliseconds(250);
  std::chrono::milliseconds check_timeout = std::chrono::seconds(5);
  /// TLS for checks; null for plaintext.
  std::shared_ptr<tls_towards> tls = nullptr;
  /// Forwards clients' plaintext connections over TLS. REQUIRES: `tls`.
  bool connections_over_tls = false;
  /// Sends a PROXY header (version 2) with the client's address at the start of each forwarded
  /// connection, before any TLS handshake. Checks have no header.
  bool send_proxy = false;
  std::function<void(bool warning, std::string const& line)> log = [](bool, std::string const&) {};
};

class relay {
 public:
  /// REQUIRES: there is at least one upstream; `io` outlives the relay and runs on one thread.
  relay(asio::io_context& io, relay_options options);
  /// REQUIRES: `io` is not running, or stop() was called and all tasks have ended.
  ~relay();
  relay(relay const&) = delete;

  /// Binds and listens. If the system selects the port, sets it in `where`.
  boost::system::error_code listen(asio::ip::tcp::endpoint& where);
  /// Starts the checks and accepts connections. Must be called once, after listen().
  void start();
  /// Stops accepting and resets all connections. Soon afterwards, io.run() returns.
  void stop();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace muster::relay
