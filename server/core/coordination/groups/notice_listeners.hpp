// Tasks that wait for a preemption notice. Each JAX process waits for the notice's key only once.
// If that wait ends with its connection, the process continues but cannot be notified.
//
// States of a task; see notice_state:
//
//   not waiting ──wait begins──► waiting ──notice is set──► notified
//                                 ▲   │ the wait ends, or the server restarts
//                                 │   ▼
//                                 └─ wait lost ──heartbeat──► unreachable ──wait begins──► waiting
//
// A task that leaves, fails or is replaced is no longer waiting. Used only on the engine thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "server/core/api/time.hpp"
#include "server/core/coordination/api/coordination_changes.hpp"

namespace muster::core::coordination {

class notice_waits {
 public:
  /// Tasks that become unreachable within this time are reported together.
  static constexpr duration together = std::chrono::seconds(5);

  notice_waits(task_index tasks, change_log log) : tasks_(tasks), log_(log) {}

  void waits(task_index t) {
    ++tasks_[t].calls;
    set(t, state::listens);
  }
  /// Must be called when a wait has ended. `told` is true if the call was answered with the notice.
  void over(task_index t, bool told) {
    auto& a = tasks_[t];
    if (a.calls > 0 && --a.calls > 0) return;
    if (a.is == state::listens) set(t, told ? state::told : state::lost);
  }
  void restore(task_index t) { set(t, state::lost); }
  void forget(task_index t) {
    tasks_[t].calls = 0;
    set(t, state::never);
  }

  bool is_lost(task_index t) const { return tasks_[t].is == state::lost; }
  void mark_unreachable(task_index t, time_point now) {
    set(t, state::deaf);
    if (deaf_ == 1) since_ = now;
    untold_.push_back(t);
    if (due_ == never) due_ = now + together;
  }
  /// Returns the time at which to report the tasks that take_unreported() returns.
  time_point due() const { return due_; }
  std::vector<task_index> take_unreported() {
    due_ = never;
    auto all = std::exchange(untold_, {});
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    std::erase_if(all, [this](task_index t) { return tasks_[t].is != state::deaf; });
    return all;
  }
  /// Returns all tasks that are `deaf` or `lost`.
  std::vector<task_index> unheard() const {
    std::vector<task_index> all;
    for (task_index t = 0; t < tasks_.size(); ++t)
      if (tasks_[t].is == state::deaf || tasks_[t].is == state::lost) all.push_back(t);
    return all;
  }
  std::vector<task_index> deaf() const {
    std::vector<task_index> all;
    for (task_index t = 0; deaf_ > 0 && t < tasks_.size(); ++t)
      if (tasks_[t].is == state::deaf) all.push_back(t);
    return all;
  }
  time_point since() const { return since_; }
  void write_state(change_log const& log) const {
    for (task_index t = 0; t < tasks_.size(); ++t)
      if (tasks_[t].is != state::never) log.note(notice_changed{t, state::never, tasks_[t].is});
  }

 private:
  using state = notice_state;
  struct task {
    state is = state::never;
    std::uint32_t calls = 0;
  };
  void set(task_index t, state to) {
    if (tasks_[t].is == to) return;
    log_.note(notice_changed{t, tasks_[t].is, to});
    deaf_ += to == state::deaf;
    deaf_ -= tasks_[t].is == state::deaf;
    tasks_[t].is = to;
  }

  std::vector<task> tasks_;
  std::vector<task_index> untold_;  // each heartbeat adds at most one entry
  std::size_t deaf_ = 0;
  time_point due_ = never;
  time_point since_{};
  change_log const log_;
};

}  // namespace muster::core::coordination
