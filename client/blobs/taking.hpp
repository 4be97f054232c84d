// Takes memory from the processes of this host that hold it; see unix_packets.hpp for what is said.
//
// Any thread asks, and waits for the answer, which the loop reads. What was taken is told of when
// its holder drops it or dies. A holder that cannot be reached, as one on another host, is not
// tried again for a while. Owned by shared_values, with the io_context and its thread (the loop).
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

class taker {
 public:
  /// Connections to holders; more are not reached.
  static constexpr std::size_t holders_max = 128;
  static constexpr std::chrono::seconds avoided_for{30};
  static constexpr std::size_t avoided_max = 1'000;
  static constexpr std::chrono::seconds answer_within{5};

  /// The loop's thread, before anything that the holder says later. The memory is what was asked
  /// for. Errors: any, then it is not taken.
  using got = std::function<void(file_descriptor fd)>;

  /// `on_dropped`: the loop's thread; of what was taken and is kept.
  taker(boost::asio::io_context& loop, std::function<void(std::string const&)> on_dropped)
      : loop_(loop), on_dropped_(std::move(on_dropped)) {}
  taker(taker const&) = delete;

  /// False: it cannot be taken, so have it from the server; `why` says why. `then` has been called
  /// when this returns true. `keep`: on_dropped is called when it goes. Any thread but the loop's.
  bool take(std::string const& holder, std::string const& name, std::uint64_t size, bool keep,
            got then, std::string& why);
  /// Lets go of sockets; who waits is answered. The loop, or when it has ended.
  void close();

 private:
  struct question {
    std::uint64_t size = 0;
    bool keep = false;
    got then;
    std::promise<bool> answer;
    std::string why;  // before the answer
  };
  struct holder {
    holder(boost::asio::io_context& loop, std::string n, file_descriptor s)
        : name(std::move(n)), socket(loop, s.release()), mark(socket.native_handle()) {}
    std::string const name;
    boost::asio::posix::stream_descriptor socket;
    closed_in_forks mark;
    std::set<std::string> taken;  // the loop's
    // Under the taker's mutex.
    std::map<std::string, std::deque<std::shared_ptr<question>>> asked;
    bool gone = false;
  };
  using clock = std::chrono::steady_clock;

  // REQUIRE the mutex.
  std::shared_ptr<holder> connected(std::string const& name, std::string& why);
  void avoid(std::string const& name);

  // The loop's.
  void listen_to(std::shared_ptr<holder> const& h);
  bool hear(holder& h);
  void answer(holder& h, question& q, unix_packet& said);
  void end(std::shared_ptr<holder> const& h);

  boost::asio::io_context& loop_;
  std::function<void(std::string const&)> const on_dropped_;

  std::mutex mutex_;  // protects all below
  std::map<std::string, std::shared_ptr<holder>> holders_;
  std::map<std::string, clock::time_point> avoided_;
  bool closed_ = false;
};

}  // namespace muster::detail
