// Reports that no closure finishes although closures run or could run. The first report follows
// after one period; later intervals double, up to one hour, because repeated reports add no
// information. Used only on the engine thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>

#include "server/core/api/time.hpp"

namespace muster::core {

class watchdog {
 public:
  static constexpr duration longest_pause = std::chrono::hours(1);

  /// `period` is the time until the first report; 0 disables the watchdog.
  explicit watchdog(duration period) : period_(period) {}

  void progress() { progressed_ = true; }
  /// Called at the end of each step. `busy` is true if a closure is running, or is queued while
  /// workers are connected.
  void observe(bool busy, time_point now) {
    if (period_ == duration{}) return;
    if (busy && quiet_since_ != never && !progressed_) return;
    progressed_ = stalled_ = false;
    quiet_since_ = busy ? now : never;
    pause_ = period_;
    due_ = busy ? now + pause_ : never;
  }
  /// Called when `due` is reached. Returns whether a stall must be reported. `work` is true if a
  /// closure is running or is queued for a worker.
  bool on_alarm(bool work, time_point now) {
    if (work) pause_ = std::max(period_, std::min<duration>(2 * pause_, longest_pause));
    due_ = now + pause_;
    stalled_ |= work;
    return work;
  }

  time_point due() const { return due_; }
  /// Returns whether a stall was reported and no closure has finished since.
  bool stalled() const { return stalled_; }
  /// Returns the time at which the lack of progress began, or `never` while idle.
  time_point quiet_since() const { return quiet_since_; }

  std::string invalid() const {
    return (quiet_since_ == never) == (due_ == never)
               ? ""
               : "the watchdog has a deadline but no start time, or the reverse";
  }

 private:
  duration const period_;
  time_point quiet_since_ = never;
  time_point due_ = never;
  duration pause_{};
  bool progressed_ = false;
  bool stalled_ = false;
};

}  // namespace muster::core
