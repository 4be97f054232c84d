// Signal between the engine's state and a stream's writer. Several set() wake the single waiter
// once, which then checks the state. Owned by the stream. Engine thread only.
#pragma once

#include <utility>

#include "base/unique_function.hpp"
#include "coro/engine_context.hpp"
#include "coro/task.hpp"

namespace muster::coro {

class event {
 public:
  explicit event(engine_context& engine) : engine_(engine) {}
  // @pre No task waits.
  ~event();
  event(event const&) = delete;

  // Sets the flag. The waiter resumes later from the engine's loop.
  void set();

  // Completes with true when the flag is set, and clears it. Completes with false if the task is
  // cancelled (any type).
  // @pre One waiter at a time. The event outlives the wait.
  [[nodiscard]] task<bool> wait();

 private:
  [[nodiscard]] task<bool> suspend();
  void wake();

  engine_context& engine_;
  unique_function<void(bool)> waiter_;
  bool set_ = false;
  bool waking_ = false;     // resumption of the waiter is queued
  bool cancelled_ = false;  // resume the waiter with false
};

}  // namespace muster::coro
