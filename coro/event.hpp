// A coalescing signal, the "dirty flag" between the engine's state and a stream's writer: set it as
// often as you like, the one waiter wakes once and then looks at the state. Owned by the stream it
// belongs to. Engine thread only.
#pragma once

#include <utility>

#include "base/unique_function.hpp"
#include "coro/engine_context.hpp"
#include "coro/task.hpp"

namespace muster::coro {

class event {
 public:
  explicit event(engine_context& engine) : engine_(engine) {}
  // REQUIRES: nobody waits.
  ~event();
  event(event const&) = delete;

  // The waiter resumes from the engine's loop, never inside this call.
  void set();

  // Completion: true when set, at once if it already was; clears the flag on the way. False when
  // the waiting task was cancelled (any type). REQUIRES: one waiter at a time; the event outlives
  // the wait.
  [[nodiscard]] task<bool> wait();

 private:
  [[nodiscard]] task<bool> suspend();
  void wake();

  engine_context& engine_;
  unique_function<void(bool)> waiter_;
  bool set_ = false;
  bool waking_ = false;     // the waiter's resumption is queued
  bool cancelled_ = false;  // and tells it that its task was cancelled
};

}  // namespace muster::coro
