// Isolated closures: each of them has lost so many workers that its next worker runs no other
// closure. A closure that kills its worker thus does not harm other closures. States:
//
//   (counted losses) ──► waits ────an empty worker────────► runs ──► ended, or found harmless
//                          ▲                                 │
//                          └──── requeued, retried, delayed ─┘
//
// If no worker becomes empty by itself, a worker is kept empty: it receives no closures until the
// isolated closure has started on it. If that takes too long, another worker or closure is tried,
// and the patience doubles. Used only on the engine thread; bounded by the number of closures.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "server/core/api/ids.hpp"
#include "server/core/api/time.hpp"

namespace muster::core {

class exclusive_table {
 public:
  /// Time that closures wait for an empty worker before a worker is kept empty.
  static constexpr duration patience = std::chrono::seconds(1);
  /// Maximum number of closures per step that are tried without finding a worker.
  static constexpr std::size_t tries_max = 16;

  /// REQUIRES: the closure is not in the table.
  void add(closure_id c, time_point since) { all_.emplace(since, c); }
  void erase(closure_id c, time_point since) {
    end_wait(c);
    all_.erase({since, c});
  }
  /// REQUIRES: the closure was added.
  void wait(closure_id c, time_point now) {
    if (waiting_.empty()) restart_patience(now);
    waiting_.insert(c);
  }
  void started(closure_id c, time_point now) {
    end_wait(c);
    if (!waiting_.empty()) restart_patience(now);
  }

  std::set<std::pair<time_point, closure_id>> const& all() const { return all_; }
  std::set<closure_id> const& waiting() const { return waiting_; }
  bool waits(closure_id c) const { return waiting_.contains(c); }
  bool any_waits() const { return !waiting_.empty(); }
  /// Returns the next waiting closure, in rotation. REQUIRES: any_waits().
  closure_id next() {
    auto const it = waiting_.upper_bound(last_tried_);
    return last_tried_ = it == waiting_.end() ? *waiting_.begin() : *it;
  }

  /// Returns the time of the next attempt to keep a worker empty, or `never` if no closure waits.
  time_point due() const { return due_; }
  void wait_longer(time_point now) {
    patience_ *= 2;
    due_ = now + patience_;
  }

  /// The worker that is kept empty, and its closure. Both ids are null if no worker is kept empty.
  struct kept {
    closure_id by{};
    stream_id worker{};
  };
  kept keeps;

  std::string invalid() const {
    if ((due_ == never) != waiting_.empty())
      return "exclusive closures are waiting but no search for an idle worker is due, or the "
             "reverse";
    if (keeps.by != closure_id{} && !waits(keeps.by))
      return "a worker is reserved for a closure that is not waiting";
    return {};
  }

 private:
  void restart_patience(time_point now) {
    patience_ = patience;
    due_ = now + patience_;
  }
  void end_wait(closure_id c) {
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
