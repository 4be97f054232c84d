// Informs the worker that a function waits for a value. After a long wait, the worker uses the slot
// for other calls, which may have to produce the value.
#pragma once

#include <atomic>
#include <chrono>

namespace muster::detail {

/// Start of the wait, or the epoch if the thread is not waiting.
using wait_start = std::atomic<std::chrono::steady_clock::time_point>;

/// While this object exists, records this thread's waits in `into`, which must outlive it.
class wait_recording_scope {
 public:
  explicit wait_recording_scope(wait_start& into);
  ~wait_recording_scope();
  wait_recording_scope(wait_recording_scope const&) = delete;

 private:
  wait_start* before_;
};

/// Marks this thread as waiting while this object exists. Destroying a nested object ends the outer
/// wait as well.
class value_wait {
 public:
  value_wait();
  ~value_wait();
  value_wait(value_wait const&) = delete;
};

}  // namespace muster::detail
