// Reports each exited child of this process before the child is reaped. While the child is a
// zombie, its process group ID cannot be reused. A launcher owns it and uses it on its thread.
// @pre No other code in the process waits for children.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>

namespace muster::launch {

class reaper {
 public:
  /// @param ended called with the child's PID and its status from wait()
  reaper(boost::asio::io_context& io, std::function<void(pid_t pid, int raw_status)> ended);
  /// Starts reporting. Children that exited earlier are reported immediately.
  void start();

 private:
  void reap();

  boost::asio::signal_set children_;
  std::function<void(pid_t, int)> ended_;
};

}  // namespace muster::launch
