// Gives what this process holds to others of its user on this host, over a Unix socket whose name
// is random. Owned by shared_values, with the io_context and the thread that runs it (the loop).
// Adding and dropping: any thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/blobs/forked.hpp"
#include "client/blobs/unix_packets.hpp"

namespace muster::detail {

class giver {
 public:
  /// Processes that take from one. Those beyond are hung up on, and have it from the server.
  static constexpr int connections_max = 128;
  /// Contents that one process holds; at most a quarter of the descriptors that it may have.
  static constexpr std::size_t names_max = 1'024;

  /// Errors: std::system_error, there is no such socket.
  giver(boost::asio::io_context& loop, std::size_t bytes_max);
  giver(giver const&) = delete;

  std::string const& socket_name() const { return socket_name_; }

  /// Room for one that is to be added. False: it is more than may be held.
  bool reserve(std::size_t size);
  /// Whether so much more would fit if `without` bytes went.
  bool has_room(std::size_t size, std::size_t without);
  void unreserve(std::size_t size);
  struct occupancy {
    std::size_t bytes = 0, bytes_max = 0, names = 0, names_max = 0;
  };
  occupancy used();
  /// What there is room for.
  void add(std::string const& name, file_descriptor fd, std::size_t size);
  /// False: it is not here.
  bool drop(std::string const& name);
  /// Nothing: it is not here, or no descriptor is left.
  file_descriptor opened(std::string const& name);
  /// Names with their sizes.
  std::vector<std::pair<std::string, std::size_t>> held();
  /// Lets go of sockets. The loop, or when it has ended.
  void close();

 private:
  struct peer {
    peer(boost::asio::io_context& loop, file_descriptor s)
        : socket(loop, s.release()), mark(socket.native_handle()) {}
    boost::asio::posix::stream_descriptor socket;
    closed_in_forks mark;
    std::set<std::string> names;  // that it is told of
  };
  struct content {
    file_descriptor fd;
    closed_in_forks mark;
    std::size_t size = 0;
  };

  // The loop's.
  void accept();
  void take_connection();
  void listen_to(std::shared_ptr<peer> const& p);
  bool answer(peer& p);
  void tell_dropped(std::string const& name);

  boost::asio::io_context& loop_;
  std::size_t const bytes_max_, names_here_max_;
  std::string const socket_name_;
  boost::asio::posix::stream_descriptor listening_;
  closed_in_forks mark_;
  boost::asio::steady_timer pause_;
  std::set<std::shared_ptr<peer>> peers_;  // the loop's

  std::mutex mutex_;  // protects all below
  std::map<std::string, content, std::less<>> held_;
  std::size_t bytes_ = 0, reserved_ = 0;
};

}  // namespace muster::detail
