// Sends the log lines of a session's closures to a client. Lines are read from the log store when a
// message is about to be written, so a slow client needs no queue.
// Owned by a session's stream; used only on the engine thread.
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
  /// Limits per time window. Further lines wait in the store, which drops a closure's oldest lines.
  static constexpr std::chrono::milliseconds window{100};
  static constexpr std::size_t window_lines_max = 500;
  static constexpr std::size_t window_bytes_max = std::size_t{64} << 10;

  /// REQUIRES: the hub outlives the feed, or forget_hub is called first.
  /// @param wake Called by the hub when lines arrive.
  log_feed(coro::engine_context& engine, hub& h, core::session_id session, std::uint64_t after,
           std::function<void()> wake);
  ~log_feed() { stop_waiting(); }
  log_feed(log_feed const&) = delete;

  /// Returns whether lines may be available to send now.
  bool ready();
  void fill(v1::SessionResponse& to);
  /// Adds lines to the last message, regardless of the limits per window.
  void finish(v1::SessionResponse& to);
  void forget_hub() { hub_ = nullptr; }

 private:
  void wait_for_lines();
  void stop_waiting();
  void on_line();

  hub* hub_;
  core::session_id session_;
  std::uint64_t last_sent_;
  std::function<void()> wake_;
  std::optional<log_store::wait_id> waiting_;
  clock::time_point window_end_{};
  std::size_t lines_left_ = 0;
  std::size_t bytes_left_ = 0;
  coro::timer next_window_;
};

/// `function` is the name of the closure's function.
void to_wire(log_line const& line, std::string_view function, v1::LogLine& to);

}  // namespace muster::server
