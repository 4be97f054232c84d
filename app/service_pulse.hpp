// Heartbeats for systemd's watchdog (WatchdogSec=, sd_notify(3)), sent three times per interval.
// While the server serves, the engine thread sends them, so systemd restarts a server whose engine
// hangs. Before the server serves and while it is stopping, a separate thread sends them.
//
// Owned by serve(); outlives the app. Member functions are called on the main thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "coro/engine_context.hpp"

namespace muster::server {

class service_pulse {
 public:
  /// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID; without these variables, sends nothing.
  /// Removes the last two variables from the environment.
  /// @pre service_manager::from_environment has not been called.
  service_pulse();
  service_pulse(service_pulse const&) = delete;

  /// @pre hold_stop_signals was called.
  void begin();

  /// Sends further heartbeats from the thread of `engine`.
  /// @pre `engine` exists until stopping() has returned.
  void follow(coro::engine_context& engine);
  /// Notifies systemd that the server is stopping. Afterwards, heartbeats do not depend on the
  /// engine.
  void stopping();

 private:
  void beat(std::stop_token end);
  void send(std::string_view text) const;

  std::string const notify_;
  std::chrono::microseconds const interval_;  // 0 if there is no watchdog

  std::mutex mutex_;
  std::condition_variable_any over_;
  coro::engine_context* engine_ = nullptr;
  std::atomic<bool> post_pending_ = false;
  std::jthread thread_;
};

}  // namespace muster::server
