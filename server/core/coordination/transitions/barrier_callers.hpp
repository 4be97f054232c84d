// Parks, removes and answers calls at barriers.
#pragma once

#include "server/core/coordination/groups/device_exchange.hpp"
#include "server/core/coordination/transitions/barrier_faults.hpp"

namespace muster::core::coordination {

class leavers {
 public:
  leavers(std::vector<task_error> const& all, task_index tasks)
      : all_(all), by_task_(all.size() > 1 ? tasks : 0) {
    if (all.size() > 1)
      for (auto const& l : all) by_task_[l.task] = &l;
  }

  /// Returns null if several tasks leave.
  task_error const* only() const { return all_.size() == 1 ? all_.data() : nullptr; }
  /// REQUIRES: several tasks leave.
  task_error const* find(task_index t) const { return by_task_[t]; }

 private:
  std::vector<task_error> const& all_;
  std::vector<task_error const*> by_task_;
};

class barrier_callers {
 public:
  barrier_callers(step_frame& step, task_registry& registry, barrier_table& barriers,
                  barrier_faults& faults, generation_record& record);

  std::vector<barrier_number> running() const {
    return {barriers_.running().begin(), barriers_.running().end()};
  }

  std::optional<barrier_instance> running(barrier_number n) const {
    auto const* b = barriers_.find(n);
    return b && b->running ? std::optional(b->instance()) : std::nullopt;
  }

  /// Parks the call. `i` is the incarnation of a registration. Returns whether all participants
  /// have arrived. Has the same requirements as barrier_table::arrive.
  bool wait(barrier const& b, caller const& from, arrival const& a, core::incarnation i);
  /// Cancels the task's call in favor of a newer call. REQUIRES: the call is parked at the barrier.
  void supersede(barrier const& b, task_index t);
  /// Removes the call from its barrier. REQUIRES: the call is no longer parked.
  void withdraw(waiting_call const& w);
  /// Handles tasks that leave. If the tasks are recoverable, only removes their calls. Returns the
  /// result with which the barrier must end. Without a fault in the result, the barrier continues
  /// or has ended.
  barrier_verdict leave(barrier_number n, leavers const& gone);
  /// Ends the instance and unparks its callers. Reports an incident if a user barrier fails.
  /// REQUIRES: the instance is running.
  barrier_end end(barrier_number n, barrier_verdict v);
  void answer(barrier_end const& e);
  void answer(barrier_end const& e, call_id call);
  fault_ptr told(barrier_end const& e) const;
  /// Blames the missing tasks for the failure of a barrier that the service owns. The other tasks
  /// are casualties.
  void blame_missing(barrier const& b);
  fault_ptr bring(wait_for_all_tasks& r);

  device_exchange const& devices() const { return devices_; }

 private:
  void step_out(barrier const& b, task_index t, barrier_move how);
  barrier_verdict leave(barrier const& b, task_error const& leaver);
  std::vector<task_index> by_name() const;

  step_frame& step_;
  task_registry& registry_;
  barrier_table& barriers_;
  barrier_faults& faults_;
  generation_record& record_;
  device_exchange devices_;
};

}  // namespace muster::core::coordination
