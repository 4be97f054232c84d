// Serves the values that this process holds, over a Unix socket with a random name, to other
// processes of the same user on this host. The shared_values object owns this object, the
// io_context and its thread (the loop). Values can be added and dropped from any thread.
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

class memory_server {
 public:
  /// Maximum number of connections; further processes are disconnected, and fetch from the server.
  static constexpr int connections_max = 128;
  /// Maximum number of values. A quarter of the process's descriptor limit is used instead if it is
  /// lower.
  static constexpr std::size_t names_max = 1'024;

  /// Throws std::system_error if the socket cannot be created.
  memory_server(boost::asio::io_context& loop, std::size_t bytes_max);
  memory_server(memory_server const&) = delete;

  std::string const& socket_name() const { return socket_name_; }

  /// Reserves room for a value. Returns false if the limit is reached.
  bool reserve(std::size_t size);
  /// Returns true if `size` bytes would fit after dropping `without` bytes.
  bool has_room(std::size_t size, std::size_t without);
  void unreserve(std::size_t size);
  struct occupancy {
    std::size_t bytes = 0, bytes_max = 0, names = 0, names_max = 0;
  };
  occupancy used();
  void add(std::string const& name, file_descriptor fd, std::size_t size);
  /// Returns false if this process does not hold the value.
  bool drop(std::string const& name);
  /// Returns an empty descriptor if this process does not hold the value or has no descriptor for
  /// it.
  file_descriptor opened(std::string const& name);
  std::vector<std::pair<std::string, std::size_t>> held();
  /// Closes the socket and all connections. Must run on the loop, or after the loop has ended.
  void close();

 private:
  struct peer {
    peer(boost::asio::io_context& loop, file_descriptor s)
        : socket(loop, s.release()), mark(socket.native_handle()) {}
    boost::asio::posix::stream_descriptor socket;
    closed_in_forks mark;
    std::set<std::string> names;  // values whose drop must be reported
  };
  struct content {
    file_descriptor fd;
    closed_in_forks mark;
    std::size_t size = 0;
  };

  // The following members run on the loop.
  void accept();
  void take_connection();
  void listen_to(std::shared_ptr<peer> const& p);
  bool answer(peer& p);
  void report_dropped(std::string const& name);

  boost::asio::io_context& loop_;
  std::size_t const bytes_max_, names_here_max_;
  std::string const socket_name_;
  boost::asio::posix::stream_descriptor listening_;
  closed_in_forks mark_;
  boost::asio::steady_timer pause_;
  std::set<std::shared_ptr<peer>> peers_;  // connections, used only by the loop

  std::mutex mutex_;  // protects the following members
  std::map<std::string, content, std::less<>> held_;
  std::size_t bytes_ = 0, reserved_ = 0;
};

}  // namespace muster::detail
