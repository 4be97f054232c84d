// What went wrong in one generation: its first cause, apart from those it took down, and what
// everybody was told. Owned by `service`; knows no other part. Pure; engine thread only.
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
  /// Keeps the first. `t`: `no_task` when no single task is to blame. False: there was one.
  bool blame(task_index t, first_cause c) {
    if (cause_) return false;
    cause_ = std::move(c);
    cause_task_ = t;
    return true;
  }
  /// It failed at the same moment as the first cause, and not because of it.
  bool add_victim(task_index t) { return victims_.insert(t).second; }
  std::set<task_index> const& victims() const { return victims_; }
  /// Whether an error of this task follows from another's.
  bool is_casualty(task_index t) const {
    return cause_ && cause_task_ != t && !victims_.contains(t);
  }
  /// The message, and the first cause when it does not say it already.
  std::string with_cause(std::string message) const {
    if (!cause_ || message.find(cause_->message) != std::string::npos) return message;
    return shortened(message, 2'400) + "\nFirst cause: " + shortened(cause_->message, 600);
  }

  /// The generation has failed.
  bool failed() const { return failed_; }
  /// False: it had failed already.
  bool fail() { return !std::exchange(failed_, true); }
  /// What everybody was told who polled for errors; null: nothing.
  fault_ptr const& broadcast() const { return broadcast_; }
  /// Once a generation. False: something was told already.
  bool tell_everybody(fault_ptr f) {
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
