// Sockets for coroutines of the engine, whose context polls none: one thread waits for them, and
// who awaits an operation is resumed on the engine. Owned by whoever owns the sockets, which must
// be gone before it. They are used by the engine thread only.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>

namespace muster::coro {

class socket_poller {
 public:
  /// Errors: std::system_error, the system gives no thread.
  socket_poller();
  ~socket_poller();
  socket_poller(socket_poller const&) = delete;

  /// Sockets are made with it.
  [[nodiscard]] boost::asio::io_context& context() noexcept { return io_; }

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
};

}  // namespace muster::coro
