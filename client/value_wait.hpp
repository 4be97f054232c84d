// Tells a worker that a function waits for a value. After a long wait its slot is used for other
// calls, since one of them may have to produce the value.
#pragma once

#include <atomic>
#include <chrono>

namespace muster::detail {

/// Start of the wait; the epoch if the function does not wait.
using wait_start = std::atomic<std::chrono::steady_clock::time_point>;

/// Records waits of this thread in `into` while this object exists; `into` must outlive it.
class wait_recording_scope {
 public:
  explicit wait_recording_scope(wait_start& into);
  ~wait_recording_scope();
  wait_recording_scope(wait_recording_scope const&) = delete;

 private:
  wait_start* before_;
};

/// Marks this thread as waiting while this object exists. A nested object ends the outer wait when
/// it is destroyed.
class value_wait {
 public:
  value_wait();
  ~value_wait();
  value_wait(value_wait const&) = delete;
};

}  // namespace muster::detail
