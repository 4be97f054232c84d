// The calls that wait at barriers: how they come to wait, step out, are answered. What the end of
// a barrier means to the tasks is not known here; see error_propagation. Owned by `service`; engine
// thread only; pure.
#pragma once

#include "server/core/coordination/groups/device_exchange.hpp"
#include "server/core/coordination/transitions/barrier_faults.hpp"

namespace muster::core::coordination {

/// Tasks that fail or leave at one moment, found by task.
class leavers {
 public:
  leavers(std::vector<task_error> const& all, task_index tasks)
      : all_(all), by_task_(all.size() > 1 ? tasks : 0) {
    if (all.size() > 1)
      for (auto const& l : all) by_task_[l.task] = &l;
  }

  /// The only one; null: there are more.
  task_error const* only() const { return all_.size() == 1 ? all_.data() : nullptr; }
  /// Null: the task is none of them. REQUIRES: there are more than one.
  task_error const* find(task_index t) const { return by_task_[t]; }

 private:
  std::vector<task_error> const& all_;
  std::vector<task_error const*> by_task_;
};

class barrier_callers {
 public:
  /// REQUIRES: all outlive it.
  barrier_callers(step_frame& step, task_registry& registry, barrier_table& barriers,
                  barrier_faults& faults, generation_record& record);

  /// Instances that run now, in order of their start.
  std::vector<barrier_number> running() const {
    return {barriers_.running().begin(), barriers_.running().end()};
  }

  /// None: it does not run any more.
  std::optional<barrier_instance> running(barrier_number n) const {
    auto const* b = barriers_.find(n);
    return b && b->running ? std::optional(b->instance()) : std::nullopt;
  }

  /// The call waits at the instance, instead of one that the task waits with already. `i`: of a
  /// registration. True: everybody has come. REQUIRES: the instance runs, and the arrival fits.
  bool wait(barrier const& b, caller const& from, arrival const& a, core::incarnation i);
  /// The task's call is superseded by a newer one. REQUIRES: it waits there.
  void supersede(barrier const& b, task_index t);
  /// The call waits no longer. REQUIRES: it was taken from the parked ones.
  void withdraw(waiting_call const& w);
  /// A task that fails or leaves: one that may come back just steps out. Gives what the barrier
  /// ends with when it cannot go on; no fault: it goes on, or has ended.
  barrier_verdict leave(barrier_number n, leavers const& gone);
  /// The instance is over, its callers wait no longer; people hear of a user's barrier that fails.
  /// REQUIRES: it runs.
  barrier_end end(barrier_number n, barrier_verdict v);
  /// In order of their tasks.
  void answer(barrier_end const& e);
  /// What callers are told of an instance that has ended.
  void answer(barrier_end const& e, call_id call);
  /// What comes with the end of a barrier that fails.
  fault_ptr told(barrier_end const& e) const;
  /// Who did not come to a barrier that the whole run needs has broken it; the others are
  /// casualties.
  void blame_missing(barrier const& b);
  /// What a task says first of its devices holds. Null, or why it cannot be kept.
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
