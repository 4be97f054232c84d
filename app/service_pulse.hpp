// Signs of life for systemd's watchdog (WatchdogSec=, sd_notify(3)). Once the server serves they
// are sent by the engine thread, so one that hangs is silent, and systemd starts the server again;
// before and while it stops by a thread of their own, since nobody can tell then.
//
// Owned by serve(), above the app. Members: main thread.
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
  /// As NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID say; without them nothing is sent. The latter
  /// two are taken out of the environment. REQUIRES: before service_manager::from_environment.
  service_pulse();
  service_pulse(service_pulse const&) = delete;

  /// The first sign. REQUIRES: after hold_stop_signals.
  void begin();

  /// From now on `engine` has to turn. REQUIRES: it outlives the call of stopping().
  void follow(coro::engine_context& engine);
  /// The server stops: systemd is told so, and the engine has to turn no more.
  void stopping();

 private:
  void beat(std::stop_token end);
  void send(std::string_view text) const;

  std::string const notify_;
  std::chrono::microseconds const interval_;  // 0: nobody watches

  std::mutex mutex_;  // protects engine_
  std::condition_variable_any over_;
  coro::engine_context* engine_ = nullptr;
  std::atomic<bool> asked_ = false;  // what was posted to the engine has not run yet
  std::jthread thread_;
};

}  // namespace muster::server
