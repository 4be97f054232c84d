// Lines of one session's closures, on their way to the client that asked for them: read from the
// log store whenever a message is about to be written, so nothing is queued for a client that reads
// slowly, or for a function that prints faster than lines are sent. What the store drops meanwhile,
// the client sees by the numbers that are missing.
//
// Owned by a session's stream; engine thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "coro/timer_queue.hpp"
#include "muster/v1/coordinator.pb.h"
#include "server/hub/hub.hpp"

namespace muster::server {

class log_feed {
 public:
  using clock = coro::timer::clock;
  /// In each window so many go out; the rest waits in the store, which drops the oldest of a
  /// closure.
  static constexpr std::chrono::milliseconds window{100};
  static constexpr std::size_t window_lines_max = 500;
  static constexpr std::size_t window_bytes_max = std::size_t{64} << 10;

  /// `wake` is called when lines are there, from inside of the hub. The hub outlives it, or
  /// forget_hub is called before.
  log_feed(coro::engine_context& engine, hub& h, core::session_id session, std::uint64_t after,
           std::function<void()> wake);
  ~log_feed() { stop_waiting(); }
  log_feed(log_feed const&) = delete;

  /// Whether lines may be there that may go now.
  bool ready();
  /// Adds them to the message.
  void fill(v1::SessionResponse& to);
  /// The last message, however many went before it.
  void finish(v1::SessionResponse& to);
  void forget_hub() { hub_ = nullptr; }

 private:
  void wait_for_lines();
  void stop_waiting();
  void on_line();

  hub* hub_;
  core::session_id session_;
  std::uint64_t told_;  // number of the newest line that went out
  std::function<void()> wake_;
  std::optional<log_store::wait_id> waiting_;  // for a line; else some are there
  clock::time_point window_end_{};
  std::size_t lines_left_ = 0;
  std::size_t bytes_left_ = 0;
  coro::timer next_window_;
};

/// `function`: what the closure calls.
void to_wire(log_line const& line, std::string_view function, v1::LogLine& to);

}  // namespace muster::server
