// Connections whose client has not sent enough data to be passed on, such as an HTTP/2 preface or a
// request header. Each connection uses only a socket and a pending wait, so a flood of connections
// is cheap. The data remains in the socket, except a relay's PROXY header. After such a header, the
// limits per address apply to the client that the header names. Owned by a listener and used only
// by the thread of its io_context. States of a connection:
//
//   added --relay's PROXY header, if any, read--> waiting for data --enough data--> passed on
//     \--time is up, closed for a newer connection, or closed by the client--> closed
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "base/connection_counts.hpp"
#include "base/half_open.hpp"
#include "server/net/waiting_options.hpp"

namespace muster::net {

class waiting_connections {
 public:
  using tcp = boost::asio::ip::tcp;
  // `client` is the client behind a relay, otherwise the peer.
  using handler =
      std::function<void(tcp::socket, tcp::endpoint const& peer, tcp::endpoint const& client)>;

  // Decides about a connection from its first bytes, at most `bytes_max`. `bytes_needed` returns 0
  // to pass the connection on, `refused` to close it, or the number of bytes to wait for.
  struct judge {
    std::function<std::size_t(std::string_view said)> bytes_needed;
    std::size_t bytes_max = 0;
  };
  static constexpr std::size_t refused = std::numeric_limits<std::size_t>::max();

  // Rules of a port: when connections are passed on, and to which handler.
  struct port_rules {
    judge of_words;
    handler spoken;
  };

  waiting_connections(boost::asio::io_context& context, waiting_options options,
                      proxy_rules rules = {});
  waiting_connections(waiting_connections const&) = delete;

  // Adds a connection. Passes it on immediately if its data has already arrived.
  void add(tcp::socket socket, tcp::endpoint const& peer,
           std::shared_ptr<port_rules const> through);
  // Closes the oldest connection. Returns false if there are no connections.
  bool make_room();
  void clear();

  // Returns the counts; `half_open` is the number of waiting connections. Thread-safe.
  [[nodiscard]] connection_counts counts() const;
  [[nodiscard]] std::size_t size() const { return table_.size(); }

 private:
  struct waiting;
  using counter = std::atomic<std::uint64_t>;

  enum class verdict { speaks, gone, waits };
  verdict look(waiting& w);
  verdict look_for_header(waiting& w);
  verdict await_bytes(waiting& w, std::size_t wanted);
  std::string_view peek(waiting& w, std::size_t bytes_max);
  verdict refuse_header(waiting const& w, std::string const& problem);
  void place(waiting& w);
  void wait(std::shared_ptr<waiting> w);
  void hand_on(waiting& w);
  void leave(waiting& w);
  void note_silent_client(tcp::endpoint const& peer);
  void drop(waiting& w, counter& reason);
  void sweep();

  waiting_options const options_;
  proxy_rules const rules_;
  std::chrono::steady_clock::time_point last_logged_ = {};
  std::uint64_t unlogged_ = 0;  // refused headers that were not logged
  std::string peek_buffer_;     // as large as the largest bytes_max
  half_open_table<waiting> table_;
  boost::asio::steady_timer sweep_timer_;
  bool sweeping_ = false;
  leaky_counts silent_;  // clients that sent too little data, by network

  counter now_ = 0, expired_ = 0, address_limit_ = 0, made_room_ = 0;  // read by any thread
};

}  // namespace muster::net
