// Signal from the engine's state to a stream's writer. Several calls of set() wake the single
// waiter once. The stream owns it and uses it only on the engine thread.
#pragma once

#include <utility>

#include "base/unique_function.hpp"
#include "coro/engine_context.hpp"
#include "coro/task.hpp"

namespace muster::coro {

class event {
 public:
  explicit event(engine_context& engine) : engine_(engine) {}
  // @pre No task is waiting.
  ~event();
  event(event const&) = delete;

  // Wakes the waiter later, from the engine's loop.
  void set();

  // Completes with true when set() was called, and clears the signal. Completes with false if the
  // task is cancelled with any cancellation type.
  // @pre No other task is waiting. The event outlives the wait.
  [[nodiscard]] task<bool> wait();

 private:
  [[nodiscard]] task<bool> suspend();
  void wake();

  engine_context& engine_;
  unique_function<void(bool)> waiter_;
  bool set_ = false;
  bool waking_ = false;
  bool cancelled_ = false;
};

}  // namespace muster::coro
