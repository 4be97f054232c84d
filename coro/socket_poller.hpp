// Sockets for coroutines of the engine, whose own context cannot poll sockets. Must outlive its
// sockets. The sockets may be used only on the engine thread.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>

namespace muster::coro {

class socket_poller {
 public:
  /// @throws std::system_error if no thread can be started
  socket_poller();
  ~socket_poller();
  socket_poller(socket_poller const&) = delete;

  [[nodiscard]] boost::asio::io_context& context() noexcept { return io_; }

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
};

}  // namespace muster::coro
