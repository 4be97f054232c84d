// That the function of a closure waits for a value, as its worker is to see: one that waits for
// long gives its slot back, since the closure that makes the value may need it.
#pragma once

#include <atomic>
#include <chrono>

namespace muster::detail {

/// Since when; the epoch: it does not wait.
using wait_start = std::atomic<std::chrono::steady_clock::time_point>;

/// For as long as it lives, waits of this thread are said in `into`, which outlives it.
class waits_here {
 public:
  explicit waits_here(wait_start& into);
  ~waits_here();
  waits_here(waits_here const&) = delete;

 private:
  wait_start* before_;
};

/// While it lives, this thread waits for a value. One within another: the outer one ends with it.
class value_wait {
 public:
  value_wait();
  ~value_wait();
  value_wait(value_wait const&) = delete;
};

}  // namespace muster::detail
