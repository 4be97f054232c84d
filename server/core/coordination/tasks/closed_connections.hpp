// Tasks whose connection was closed, or whose caller dropped its poll for errors. A living process
// reconnects or sends a message. A process that stays silent for the cluster's grace period is
// dead. Used only on the engine thread.
#pragma once

#include <deque>
#include <vector>

#include "server/core/coordination/api/fault.hpp"

namespace muster::core::coordination {

class closed_connections {
 public:
  /// Messages that were sent before the close can arrive after the close. Messages within this time
  /// do not count as a sign of life.
  static constexpr duration still_in_flight = std::chrono::milliseconds(200);

  explicit closed_connections(task_index tasks) : closed_at_(tasks, never) {}

  void note(task_index t, time_point now) {
    if (closed_at_[t] == never) order_.push_back({now, t});
    closed_at_[t] = now;
  }
  void heard(task_index t, time_point now) {
    if (closed_at_[t] != never && now - closed_at_[t] > still_in_flight) closed_at_[t] = never;
  }
  void forget(task_index t) { closed_at_[t] = never; }
  /// Restarts all grace periods after the server received no messages for some time.
  void begin_again(time_point now) {
    for (auto& [at, t] : order_)
      if (closed_at_[t] != never) closed_at_[t] = now;
  }

  /// Returns a time not later than the oldest entry, or `never`.
  time_point oldest() const { return order_.empty() ? never : order_.front().at; }
  /// Removes and returns the tasks that were recorded until this time and have been silent since.
  std::vector<task_index> take(time_point until) {
    std::vector<task_index> silent;
    while (!order_.empty() && order_.front().at <= until) {
      auto const t = order_.front().task;
      order_.pop_front();
      if (closed_at_[t] == never) continue;
      if (closed_at_[t] > until) {  // the connection has been closed again
        order_.push_back({closed_at_[t], t});
        continue;
      }
      closed_at_[t] = never;
      silent.push_back(t);
    }
    return silent;
  }

 private:
  struct entry {
    time_point at{};
    task_index task = no_task;
  };
  // Indexed by task. `never` if the connection is open, or if a message arrived after the close.
  std::vector<time_point> closed_at_;
  std::deque<entry> order_;
};

}  // namespace muster::core::coordination
