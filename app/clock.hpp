// The server's one clock: steady, anchored once to the wall clock when it is made, so it never goes
// backwards and its values can still be shown to people. Immutable; any thread may read it.
#pragma once

#include <algorithm>
#include <chrono>

#include "server/core/api/time.hpp"

namespace muster::server {

class anchored_clock {
 public:
  core::time_point now() const {
    return wall_ + std::chrono::floor<core::duration>(steady::now() - start_);
  }
  /// The steady instant that stands for `t`, for timers. Times beyond a year from the start are
  /// brought nearer: `never` would overflow.
  std::chrono::steady_clock::time_point to_steady(core::time_point t) const {
    auto const ahead = std::min<core::duration>(t - wall_, std::chrono::years(1));
    return start_ + std::chrono::duration_cast<steady::duration>(ahead);
  }

 private:
  using steady = std::chrono::steady_clock;
  steady::time_point const start_ = steady::now();
  core::time_point const wall_ =
      std::chrono::floor<core::duration>(std::chrono::system_clock::now());
};

}  // namespace muster::server
