// Says when nothing finishes although something runs, or could: the watch begins with the first
// such closure, starts over with everything that finishes, and speaks once a period.
//
// Knows times and whether there is work, nothing else. Owned by the coordinator; engine thread
// only.
#pragma once

#include <string>

#include "server/core/api/time.hpp"

namespace muster::core {

class watchdog {
 public:
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
    due_ = busy ? now + period_ : never;
  }
  /// `due` has come. True: say so. `work`: something runs or is queued for a worker.
  bool rang(bool work, time_point now) {
    due_ = now + period_;
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
  template <class Archive>
  void walk(Archive& a) {
    a(quiet_since_, due_, progressed_, stalled_);
  }

 private:
  duration const period_;
  time_point quiet_since_ = never;
  time_point due_ = never;
  bool progressed_ = false;  // in this step
  bool stalled_ = false;
};

}  // namespace muster::core
