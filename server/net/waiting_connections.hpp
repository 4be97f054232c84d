// Connections whose client has not yet sent its first words: an HTTP/2 preface, a request's header.
// Each is a socket and a wait, no more, so that a flood of them costs little; what has come is
// looked at and left in the socket. Only a relay's PROXY header is read off it: from then on the
// client is who the header says, also for the limits by address. Owned by a listener, on the one
// thread that runs its io_context.
//
//   add --whole header, where a relay sends one--> --whole words--> handed on
//     \--time is up, or made room for another, or the client closed its side--> closed
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
  // `client` is the peer, or who is behind it.
  using handler =
      std::function<void(tcp::socket, tcp::endpoint const& peer, tcp::endpoint const& client)>;

  // Judges what a client has said so far: 0 when it is to be handed on, `refused` when it is to be
  // closed, else the number of bytes that must be there before it is looked at again, at most
  // `bytes_max` of which are shown.
  struct judge {
    std::function<std::size_t(std::string_view said)> bytes_wanted;
    std::size_t bytes_max = 0;
  };
  static constexpr std::size_t refused = std::numeric_limits<std::size_t>::max();

  // Of a port: who is handed on, and to whom.
  struct way_in {
    judge of_words;
    handler spoken;
  };

  waiting_connections(boost::asio::io_context& context, waiting_options options,
                      proxy_rules rules = {});
  waiting_connections(waiting_connections const&) = delete;

  // Hands it on at once when its words are there.
  void add(tcp::socket socket, tcp::endpoint const& peer, std::shared_ptr<way_in const> through);
  // False: nobody waits.
  bool make_room();
  // Closes all.
  void clear();

  // Any thread. `half_open` are those that wait now.
  [[nodiscard]] connection_counts counts() const;
  [[nodiscard]] std::size_t size() const { return table_.size(); }

 private:
  struct waiting;
  using counter = std::atomic<std::uint64_t>;

  // Whether it is to be handed on, to be closed, or to wait for so many bytes.
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
  void left_silent(tcp::endpoint const& peer);
  void drop(waiting& w, counter& reason);
  void sweep();

  boost::asio::io_context& context_;
  waiting_options const options_;
  proxy_rules const rules_;
  std::chrono::steady_clock::time_point complained_ = {};
  std::uint64_t not_told_ = 0;  // of headers that were refused
  std::string words_;           // room for what is looked at, of the largest bytes_max
  half_open_table<waiting> table_;
  boost::asio::steady_timer sweep_timer_;
  bool sweeping_ = false;
  leaky_counts silent_;  // by network

  counter now_ = 0, expired_ = 0, address_limit_ = 0, made_room_ = 0;  // any thread reads
};

}  // namespace muster::net
