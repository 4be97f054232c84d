// Tells of each child of this process that has ended, before it is reaped: as long as the zombie is
// there, nobody else can have the number of its process group. Owned by a launcher; its thread.
// REQUIRES: nobody else in the process waits for children meanwhile.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>

namespace muster::launch {

class reaper {
 public:
  /// `ended` gets the child and what wait() says of it.
  reaper(boost::asio::io_context& io, std::function<void(pid_t pid, int raw_status)> ended);
  /// From here on. Nothing before it is missed, a child that ended earlier is told of at once.
  void start();

 private:
  void reap();

  boost::asio::signal_set children_;
  std::function<void(pid_t, int)> ended_;
};

}  // namespace muster::launch
