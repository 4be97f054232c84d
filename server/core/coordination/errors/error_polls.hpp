// Who waits to hear of an error, at most one call a task, and who has heard of the one that
// everybody is told. Owned by `service`; knows no other part. Pure; engine thread only.
#pragma once

#include <utility>
#include <vector>

#include "base/check.hpp"
#include "server/core/coordination/api/fault.hpp"

namespace muster::core::coordination {

class error_polls {
 public:
  explicit error_polls(task_index tasks) : polls_(tasks) {}

  /// Somebody polls, so errors can be told rather than only found out.
  void note_poller() { polled_ = true; }
  bool polled() const { return polled_; }

  /// REQUIRES: the task has no call here.
  void add(task_index t, call_id call) {
    check(polls_[t].call == call_id{}, "a task polls with one call at a time");
    polls_[t].call = call;
    ++waiting_;
  }
  /// The task's call, which waits no longer; 0: it had none.
  call_id take(task_index t) {
    auto const call = std::exchange(polls_[t].call, call_id{});
    waiting_ -= call != call_id{};
    return call;
  }
  call_id of(task_index t) const { return polls_[t].call; }
  std::size_t waiting() const { return waiting_; }

  bool told(task_index t) const { return polls_[t].told; }
  void set_told(task_index t, bool told) { polls_[t].told = told; }

 private:
  struct poll {
    call_id call{};
    bool told = false;
  };
  std::vector<poll> polls_;  // by task
  std::size_t waiting_ = 0;
  bool polled_ = false;
};

}  // namespace muster::core::coordination
