// Calls that wait for changes to task states, and the last states that were sent. Callers at the
// same version share one object. Used only on the engine thread.
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
  task_watches(std::size_t lists, duration interval, std::size_t few = 0)
      : snapshots_(lists), interval_(interval), few_(few) {}

  /// Calls `make()` if the states of this version are not cached.
  template <class Make>
  std::shared_ptr<task_states const> snapshot(std::size_t list, std::int64_t version,
                                              time_point now, Make make) {
    auto& kept = snapshots_[list];
    if (kept && kept->version == version) return kept;
    auto states = std::make_shared<task_states>(task_states{make(), version});
    snapshot_at_ = now;
    return kept = std::move(states);
  }

  /// Returns whether this version was sent within the last interval. A caller that polls again
  /// within the interval waits until the interval has ended.
  bool just_delivered(std::size_t list, std::int64_t version, time_point now) const {
    auto const& kept = snapshots_[list];
    return now < snapshot_at_ + interval_ && kept && kept->version == version;
  }

  /// `missed` is true if the caller has missed a change.
  void add(call_id call, bool missed) {
    if (missed && due_ == never) due_ = snapshot_at_ + interval_;
    watchers_.insert(call);
  }
  void remove(call_id call) { watchers_.erase(call); }
  void note_change(time_point now) {
    if (watchers_.empty() || due_ != never) return;
    bool const few = watchers_.size() <= few_;
    due_ = few ? std::max(now, snapshot_at_ + interval_) : now + interval_;
  }

  time_point due() const { return due_; }
  std::set<call_id> take() {
    due_ = never;
    return std::exchange(watchers_, {});
  }
  std::size_t waiting() const { return watchers_.size(); }

 private:
  std::set<call_id> watchers_;
  std::vector<std::shared_ptr<task_states const>> snapshots_;
  time_point snapshot_at_{};
  time_point due_ = never;
  duration const interval_;
  std::size_t const few_;
};

}  // namespace muster::core::coordination
