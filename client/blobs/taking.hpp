// Fetches values from the processes on this host that hold them; see unix_packets.hpp for the
// protocol.
//
// Any thread can request memory, and blocks until the loop has read the answer. Dropped values and
// dead holders are reported. A holder that cannot be reached, for example on another host, is not
// retried for a while. The shared_values object owns this object, the io_context and its thread
// (the loop).
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "client/blobs/forked.hpp"
#include "client/blobs/memory.hpp"
#include "client/blobs/unix_packets.hpp"

namespace muster::detail {

class memory_client {
 public:
  /// Maximum number of connections; further holders are not contacted.
  static constexpr std::size_t holders_max = 128;
  static constexpr std::chrono::seconds avoided_for{30};
  static constexpr std::size_t avoided_max = 1'000;
  static constexpr std::chrono::seconds answer_within{5};

  /// Called on the loop's thread, before any later message from the holder. If the function throws,
  /// the memory is dropped.
  using got = std::function<void(file_descriptor fd)>;

  /// `on_dropped` is called on the loop's thread for values that were fetched with `keep`.
  memory_client(boost::asio::io_context& loop, std::function<void(std::string const&)> on_dropped)
      : loop_(loop), on_dropped_(std::move(on_dropped)) {}
  memory_client(memory_client const&) = delete;

  /// Returns true after calling `then`. Returns false if the value must be fetched from the server;
  /// `why` is then the reason. `keep` requests a call of on_dropped. May be called from any thread
  /// except the loop's thread.
  bool take(std::string const& holder, std::string const& name, std::uint64_t size, bool keep,
            got then, std::string& why);
  /// Closes the sockets and answers waiting threads. Must run on the loop, or after the loop has
  /// ended.
  void close();

 private:
  struct question {
    std::uint64_t size = 0;
    bool keep = false;
    got then;
    std::promise<bool> answer;
    std::string why;  // reason for a failure, set before the answer
  };
  struct holder {
    holder(boost::asio::io_context& loop, std::string n, file_descriptor s)
        : name(std::move(n)), socket(loop, s.release()), mark(socket.native_handle()) {}
    std::string const name;
    boost::asio::posix::stream_descriptor socket;
    closed_in_forks mark;
    std::set<std::string> taken;  // names of fetched values, used only by the loop
    // Protected by the memory_client's mutex.
    std::map<std::string, std::deque<std::shared_ptr<question>>> asked;
    bool gone = false;
  };
  using clock = std::chrono::steady_clock;

  // The following members require the mutex.
  std::shared_ptr<holder> connected(std::string const& name, std::string& why);
  void avoid(std::string const& name);

  // The following members run on the loop.
  void listen_to(std::shared_ptr<holder> const& h);
  bool hear(holder& h);
  void answer(holder& h, question& q, unix_packet& said);
  void end(std::shared_ptr<holder> const& h);

  boost::asio::io_context& loop_;
  std::function<void(std::string const&)> const on_dropped_;

  std::mutex mutex_;  // protects the following members
  std::map<std::string, std::shared_ptr<holder>> holders_;
  std::map<std::string, clock::time_point> avoided_;
  bool closed_ = false;
};

}  // namespace muster::detail
