// Failures of one generation: the first cause, independent failures that occurred at the same time,
// and the delivered error. Used only on the engine thread.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "server/core/coordination/api/coordination_views.hpp"

namespace muster::core::coordination {

class failure_record {
 public:
  std::optional<first_cause> const& cause() const { return cause_; }
  task_index cause_task() const { return cause_task_; }
  /// Records the first cause. `t` is `no_task` if no single task is to blame. Returns false if a
  /// cause is already recorded.
  bool blame(task_index t, first_cause c) {
    if (cause_) return false;
    cause_ = std::move(c);
    cause_task_ = t;
    return true;
  }
  bool add_victim(task_index t) { return victims_.insert(t).second; }
  std::set<task_index> const& victims() const { return victims_; }
  bool is_casualty(task_index t) const {
    return cause_ && cause_task_ != t && !victims_.contains(t);
  }
  /// Appends the first cause, unless the message already contains it.
  std::string with_cause(std::string message) const {
    if (!cause_ || message.find(cause_->message) != std::string::npos) return message;
    return shortened(message, 2'400) + "\nFirst cause: " + shortened(cause_->message, 600);
  }

  bool failed() const { return failed_; }
  bool fail() { return !std::exchange(failed_, true); }
  fault_ptr const& broadcast() const { return broadcast_; }
  bool set_broadcast(fault_ptr f) {
    if (broadcast_) return false;
    broadcast_ = std::move(f);
    return true;
  }

 private:
  std::optional<first_cause> cause_;
  task_index cause_task_ = no_task;
  std::set<task_index> victims_;
  bool failed_ = false;
  fault_ptr broadcast_;
};

}  // namespace muster::core::coordination
