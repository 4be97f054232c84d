// Parked polls for errors, at most one per task, and the tasks that have received the common error.
// Used only on the engine thread.
#pragma once

#include <utility>
#include <vector>

#include "base/check.hpp"
#include "server/core/coordination/api/fault.hpp"

namespace muster::core::coordination {

class error_polls {
 public:
  explicit error_polls(task_index tasks) : polls_(tasks) {}

  void note_poller() { polled_ = true; }
  bool polled() const { return polled_; }

  /// REQUIRES: no poll of the task is parked.
  void add(task_index t, call_id call) {
    check(polls_[t].call == call_id{}, "a task must not poll with two calls at a time");
    polls_[t].call = call;
    ++waiting_;
  }
  call_id take(task_index t) {
    auto const call = std::exchange(polls_[t].call, call_id{});
    waiting_ -= call != call_id{};
    return call;
  }
  call_id of(task_index t) const { return polls_[t].call; }
  std::size_t waiting() const { return waiting_; }

  bool told(task_index t) const { return polls_[t].told; }
  void mark_delivered(task_index t, bool told) { polls_[t].told = told; }

 private:
  struct poll {
    call_id call{};
    bool told = false;
  };
  std::vector<poll> polls_;
  std::size_t waiting_ = 0;
  bool polled_ = false;
};

}  // namespace muster::core::coordination
