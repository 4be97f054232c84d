// Who waits for the states of tasks to change, and the last states that were given out: one object
// for all who ask at one version. Changes within a short time are told as one: many watchers are
// told when it is over, few at once unless they were told within it. Owned by `service`, which
// knows the states; pure; engine thread only.
#pragma once

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "server/core/coordination/api/coordination_effects.hpp"

namespace muster::core::coordination {

class task_watches {
 public:
  /// `lists`: how many lists of tasks there are to watch. `interval`, `few`: see
  /// limits::watch_interval and limits::few_watchers.
  task_watches(std::size_t lists, duration interval, std::size_t few = 0)
      : snapshots_(lists), interval_(interval), few_(few) {}

  /// The states of a list at this version, made by `make()` unless they were given out before.
  template <class Make>
  std::shared_ptr<task_states const> snapshot(std::size_t list, std::int64_t version,
                                              time_point now, Make make) {
    auto& kept = snapshots_[list];
    if (kept && kept->version == version) return kept;
    auto states = std::make_shared<task_states>(task_states{make(), version});
    snapshot_at_ = now;
    return kept = std::move(states);
  }

  /// Whoever comes back within the interval after he was told this version waits for its end like
  /// all the others.
  bool just_told(std::size_t list, std::int64_t version, time_point now) const {
    auto const& kept = snapshots_[list];
    return now < snapshot_at_ + interval_ && kept && kept->version == version;
  }

  /// `missed`: something has changed already that the caller is to hear of.
  void add(call_id call, bool missed) {
    if (missed && due_ == never) due_ = snapshot_at_ + interval_;
    watchers_.insert(call);
  }
  void remove(call_id call) { watchers_.erase(call); }
  /// A state has changed.
  void note_change(time_point now) {
    if (watchers_.empty() || due_ != never) return;
    bool const few = watchers_.size() <= few_;
    due_ = few ? std::max(now, snapshot_at_ + interval_) : now + interval_;
  }

  /// When the watchers are to be answered.
  time_point due() const { return due_; }
  /// All watchers, in order of their calls; they wait no longer.
  std::set<call_id> take() {
    due_ = never;
    return std::exchange(watchers_, {});
  }
  std::size_t waiting() const { return watchers_.size(); }

 private:
  std::set<call_id> watchers_;
  std::vector<std::shared_ptr<task_states const>> snapshots_;  // by list; null or of some version
  time_point snapshot_at_{};
  time_point due_ = never;
  duration const interval_;
  std::size_t const few_;
};

}  // namespace muster::core::coordination
