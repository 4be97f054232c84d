// Accepts connections and leads each to the server that leads, of which it asks all `/readyz`.
// While none does, new connections are held: accepted, not read. Runs on one thread, that of its
// io_context; all members belong to it.
//
//   accepted --held--> connected to the leader --relayed--> both sides have closed
//       \ no leader within hold_max, or the client broke it off       \ a side broke, or its server
//        \--> reset                                                    \  does not lead any more
//                                                                       \--> both sides reset
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
  host_port where;  // connections go there
  host_port http;   // `/readyz` is asked there
};

struct relay_options {
  std::vector<upstream> upstreams;
  /// Limits. At either one nothing is accepted until a place is free: who dials then waits in the
  /// system's queue of the socket.
  std::size_t connections_max = 10'000;  // held and relayed
  std::size_t held_max = 4'096;
  std::chrono::milliseconds hold_max = std::chrono::seconds(60);
  std::chrono::milliseconds check_every = std::chrono::milliseconds(250);
  std::chrono::milliseconds check_timeout = std::chrono::seconds(5);
  /// Questions are asked over TLS; null: in plaintext.
  std::shared_ptr<tls_towards> tls = nullptr;
  /// And connections are led on over it: what clients say in plaintext goes to the server within
  /// TLS. REQUIRES: `tls`.
  bool connections_over_tls = false;
  /// Each connection begins with a PROXY header (version 2) that says who dialled the relay; within
  /// TLS nothing of it stands. Questions have none.
  bool send_proxy = false;
  /// `warning`: worth somebody's attention.
  std::function<void(bool warning, std::string const& line)> log = [](bool, std::string const&) {};
};

class relay {
 public:
  /// REQUIRES: at least one upstream; `io` outlives it and runs on one thread.
  relay(asio::io_context& io, relay_options options);
  /// REQUIRES: `io` does not run any more, or stop() was called and all its tasks have ended.
  ~relay();
  relay(relay const&) = delete;

  /// Binds and listens; `where` then says the port if the system picked it.
  boost::system::error_code listen(asio::ip::tcp::endpoint& where);
  /// Once, after listen().
  void start();
  /// Accepts no more and resets all connections; io.run() returns soon.
  void stop();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace muster::relay
