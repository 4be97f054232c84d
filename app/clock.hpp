// The server's clock is steady and set to the wall clock once, so it never decreases, and its
// values can be displayed. The clock can also be stopped at a time, to show a history. Immutable
// and thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "server/core/api/time.hpp"

namespace muster::server {

class anchored_clock {
 public:
  explicit anchored_clock(std::optional<core::time_point> stands_at = {}) : stands_at_(stands_at) {}

  core::time_point now() const {
    if (stands_at_) return *stands_at_;
    return wall_ + std::chrono::floor<core::duration>(steady::now() - start_);
  }
  /// Returns the steady time of `t`, for timers. Limited to a year after the start, because `never`
  /// would overflow.
  std::chrono::steady_clock::time_point to_steady(core::time_point t) const {
    if (stands_at_) return start_ + (t > *stands_at_ ? a_year : steady::duration{});
    auto const ahead = std::min<core::duration>(t - wall_, a_year);
    return start_ + std::chrono::duration_cast<steady::duration>(ahead);
  }

 private:
  using steady = std::chrono::steady_clock;
  static constexpr std::chrono::hours a_year{24 * 365};

  std::optional<core::time_point> const stands_at_;
  steady::time_point const start_ = steady::now();
  core::time_point const wall_ =
      std::chrono::floor<core::duration>(std::chrono::system_clock::now());
};

}  // namespace muster::server
