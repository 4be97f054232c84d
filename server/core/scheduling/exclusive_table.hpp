// Closures that run alone: each has lost so many workers that the next one that gets it does
// nothing else meanwhile, so that a closure which kills its worker takes no others with it.
//
//   (counted losses) ──► waits ──a worker that does nothing──► runs ──► ended, or proved innocent
//                          ▲                                     │
//                          └───── requeued, retried, delayed ────┘
//
// Where no worker falls idle by itself, one is kept empty: it gets nothing new until the closure
// whose turn it is has it. Each time that was not enough another worker, or another closure, has
// its turn, for twice as long.
//
// Owned by the scheduler. Bounded by the closures.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "server/core/api/ids.hpp"
#include "server/core/api/time.hpp"

namespace muster::core {

class exclusive_table {
 public:
  /// How long they wait for a worker to fall idle before the first one is kept empty.
  static constexpr duration patience = std::chrono::seconds(1);
  /// Closures that find no worker in a step before the others have to wait for the next one.
  static constexpr std::size_t tries_max = 16;

  /// From now on it runs exclusively. REQUIRES: it is not here.
  void add(closure_id c, time_point since) { all_.emplace(since, c); }
  void erase(closure_id c, time_point since) {
    waits_no_more(c);
    all_.erase({since, c});
  }
  /// REQUIRES: added.
  void wait(closure_id c, time_point now) {
    if (waiting_.empty()) be_patient(now);
    waiting_.insert(c);
  }
  /// It has a worker of its own.
  void started(closure_id c, time_point now) {
    waits_no_more(c);
    if (!waiting_.empty()) be_patient(now);
  }

  /// Oldest first: since when, and which.
  std::set<std::pair<time_point, closure_id>> const& all() const { return all_; }
  std::set<closure_id> const& waiting() const { return waiting_; }
  /// Whether it waits for one.
  bool waits(closure_id c) const { return waiting_.contains(c); }
  bool any_waits() const { return !waiting_.empty(); }
  /// The next one in turn. REQUIRES: any_waits().
  closure_id next() {
    auto const it = waiting_.upper_bound(last_tried_);
    return last_tried_ = it == waiting_.end() ? *waiting_.begin() : *it;
  }

  /// From then on a worker is to be kept empty, or another one; never: nothing waits.
  time_point due() const { return due_; }
  /// The next try to keep a worker empty is later, for twice as long.
  void wait_longer(time_point now) {
    patience_ *= 2;
    due_ = now + patience_;
  }

  /// Which worker is kept empty for which closure; none: none.
  struct kept {
    closure_id by{};
    stream_id worker{};
  };
  kept keeps;

  /// Empty when all is in order between two steps.
  std::string invalid() const {
    if ((due_ == never) != waiting_.empty()) return "nobody looks for a worker that does nothing";
    if (keeps.by != closure_id{} && !waits(keeps.by)) return "a worker is kept empty for nobody";
    return {};
  }

 private:
  void be_patient(time_point now) {
    patience_ = patience;
    due_ = now + patience_;
  }
  void waits_no_more(closure_id c) {
    waiting_.erase(c);
    if (waiting_.empty()) due_ = never;
  }

  std::set<std::pair<time_point, closure_id>> all_;
  std::set<closure_id> waiting_;
  closure_id last_tried_{};
  duration patience_ = patience;
  time_point due_ = never;
};

}  // namespace muster::core
