// Detects that a worker has been idle for a given time. Polls, because there can be a million
// closures per second. Used only on the engine thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "coro/timer_queue.hpp"

namespace muster {

class idle_watch {
 public:
  using clock = std::chrono::steady_clock;

  /// @param busy returns whether there is work, or has been since the last call
  /// @param idle called once, after `timeout` without work, or up to a sixteenth of it later
  idle_watch(coro::engine_context& engine, std::chrono::milliseconds timeout,
             std::function<bool()> busy, std::function<void()> idle)
      : timeout_(timeout), busy_(std::move(busy)), idle_(std::move(idle)), timer_(engine) {
    look();
  }
  idle_watch(idle_watch const&) = delete;

 private:
  void look() {
    auto const now = clock::now();
    if (busy_()) last_ = now;
    if (now - last_ >= timeout_) return idle_();
    auto const next = now + std::max<clock::duration>(timeout_ / 16, std::chrono::milliseconds(1));
    timer_.call_at(std::min(next, last_ + timeout_), [this] { look(); });
  }

  std::chrono::milliseconds const timeout_;
  std::function<bool()> const busy_;
  std::function<void()> const idle_;
  clock::time_point last_ = clock::now();
  coro::timer timer_;
};

}  // namespace muster
