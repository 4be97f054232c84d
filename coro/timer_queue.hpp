// Deadlines of the engine thread: one heap and one gRPC alarm. With 10,000 workers, one gRPC alarm
// or Asio timer per deadline would use a whole core. The resolution is 1 to 2 ms, as for gRPC's
// alarms. The engine_context owns the queue; the user of a timer owns the timer. Used only on the
// engine thread.
#pragma once

#include <grpcpp/alarm.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/unique_function.hpp"
#include "coro/engine_context.hpp"
#include "coro/rpc_tag.hpp"
#include "coro/task.hpp"

namespace muster::coro {

class timer;

class timer_queue final : private rpc_tag {
 public:
  using clock = std::chrono::steady_clock;

  explicit timer_queue(engine_context& engine) : engine_(engine) {}

  [[nodiscard]] std::size_t size() const noexcept { return heap_.size(); }
  [[nodiscard]] std::uint64_t arms() const noexcept { return arms_; }

  // Completes all current and future timers with false.
  void close();

 private:
  friend class timer;

  void add(timer& t);
  void remove(timer& t);
  void complete(bool ok) override;
  void arm();
  void place(std::size_t position, timer* t);
  [[nodiscard]] static bool earlier(timer const& a, timer const& b);
  void sift_up(std::size_t position);
  void sift_down(std::size_t position);

  engine_context& engine_;
  std::vector<timer*> heap_;  // earliest deadline first; ties are ordered by `sequence_`
  grpc::Alarm alarm_;
  clock::time_point armed_for_{};
  bool armed_ = false;
  // True while the alarm is cancelled to set an earlier deadline, and its tag is outstanding.
  bool rearming_ = false;
  bool closed_ = false;
  std::uint64_t sequence_ = 0;
  std::uint64_t arms_ = 0;
};

// A timer with one deadline at a time.
class timer {
 public:
  using clock = timer_queue::clock;

  explicit timer(engine_context& engine) : engine_(engine) {}
  // Cancels a pending call_at.
  // @pre No task is waiting.
  ~timer();
  timer(timer const&) = delete;

  // Completes with true at the deadline, or with false if cancel() is called, the task is cancelled
  // with any cancellation type, or the engine closes.
  // @pre The timer is idle and outlives the wait.
  [[nodiscard]] task<bool> wait_until(clock::time_point at);
  [[nodiscard]] task<bool> wait_for(clock::duration span);

  // Calls `fn` on the engine thread at `at`. Replaces an earlier call_at. If the engine closes,
  // `fn` is not called.
  // @pre No task is waiting.
  void call_at(clock::time_point at, function fn);

  // Makes a pending wait complete with false, in the engine's loop and not inside this call.
  // Cancels a call_at. Has no effect on an idle timer.
  void cancel();

  [[nodiscard]] bool pending() const noexcept { return position_ != idle; }

 private:
  friend class timer_queue;

  static constexpr std::size_t idle = static_cast<std::size_t>(-1);

  void start(clock::time_point at, unique_function<void(bool)> on_end, bool waiting);
  void fire();

  engine_context& engine_;
  clock::time_point at_{};
  std::uint64_t sequence_ = 0;
  std::size_t position_ = idle;
  bool waiting_ = false;
  unique_function<void(bool)> on_end_;
};

}  // namespace muster::coro
