// Says when nothing finishes although something runs, or could: the watch begins with the first
// such closure and starts over with everything that finishes. It speaks after a period, and then
// at intervals that double, up to an hour: who reads it again learns only that it still is so.
//
// Knows times and whether there is work, nothing else. Owned by the coordinator; engine thread
// only.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>

#include "server/core/api/time.hpp"

namespace muster::core {

class watchdog {
 public:
  static constexpr duration longest_pause = std::chrono::hours(1);

  /// `period`: 0 switches it off.
  explicit watchdog(duration period) : period_(period) {}

  /// Something that ran has ended, in this step.
  void progress() { progressed_ = true; }
  /// At the end of each step. `busy`: something runs, or waits beside workers.
  void observe(bool busy, time_point now) {
    if (period_ == duration{}) return;
    if (busy && quiet_since_ != never && !progressed_) return;
    progressed_ = stalled_ = false;
    quiet_since_ = busy ? now : never;
    pause_ = period_;
    due_ = busy ? now + pause_ : never;
  }
  /// `due` has come. True: say so. `work`: something runs or is queued for a worker.
  bool on_alarm(bool work, time_point now) {
    if (work) pause_ = std::max(period_, std::min<duration>(2 * pause_, longest_pause));
    due_ = now + pause_;
    stalled_ |= work;
    return work;
  }

  time_point due() const { return due_; }
  /// It has spoken, and nothing has finished since.
  bool stalled() const { return stalled_; }
  /// Since when nothing finished while something could.
  time_point quiet_since() const { return quiet_since_; }

  /// Empty when all is in order between two steps.
  std::string invalid() const {
    return (quiet_since_ == never) == (due_ == never) ? "" : "the watchdog waits for nothing";
  }

 private:
  duration const period_;
  time_point quiet_since_ = never;
  time_point due_ = never;
  duration pause_{};         // before it speaks next
  bool progressed_ = false;  // in this step
  bool stalled_ = false;
};

}  // namespace muster::core
