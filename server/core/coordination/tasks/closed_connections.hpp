// Tasks whose connection was closed while they polled for errors. Who lives dials again, beats or
// asks for something; of whom nothing is heard for the grace of its cluster, the process is dead.
// Owned by `service`, which decides what follows; knows no other part. Pure; engine thread only.
// Limit: one entry a task.
#pragma once

#include <deque>
#include <vector>

#include "server/core/coordination/api/fault.hpp"

namespace muster::core::coordination {

class closed_connections {
 public:
  /// What was sent before the end may be read after it: heard so soon, it is no sign of life.
  static constexpr duration still_in_flight = std::chrono::milliseconds(200);

  explicit closed_connections(task_index tasks) : closed_at_(tasks, never) {}

  void note(task_index t, time_point now) {
    if (closed_at_[t] == never) order_.push_back({now, t});
    closed_at_[t] = now;
  }
  void heard(task_index t, time_point now) {
    if (closed_at_[t] != never && now - closed_at_[t] > still_in_flight) closed_at_[t] = never;
  }
  /// It is back.
  void forget(task_index t) { closed_at_[t] = never; }
  /// Nobody could have been heard until now.
  void begin_again(time_point now) {
    for (auto& [at, t] : order_)
      if (closed_at_[t] != never) closed_at_[t] = now;
  }

  /// When the oldest was noted, or earlier; never: there is none.
  time_point oldest() const { return order_.empty() ? never : order_.front().at; }
  /// Those that were noted up to then and not heard of since; they are forgotten.
  std::vector<task_index> take(time_point until) {
    std::vector<task_index> silent;
    while (!order_.empty() && order_.front().at <= until) {
      auto const t = order_.front().task;
      order_.pop_front();
      if (closed_at_[t] == never) continue;
      if (closed_at_[t] > until) {  // once more meanwhile
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
  std::vector<time_point> closed_at_;  // by task; never: it is not, or was heard of
  std::deque<entry> order_;
};

}  // namespace muster::core::coordination
