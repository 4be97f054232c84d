// Handles the consequences for other tasks when tasks fail or leave, or when one of the service's
// barriers ends. Consequences can cause each other, so this class handles all of them, depth first,
// so that no task receives a consequence before its cause:
//   1. Tasks fail: all tasks that fail at the same time are marked; the generation fails, and polls
//      are answered; the tasks' barriers end; queries for living tasks are answered. Finally, all
//      other tasks are marked if errors cannot be delivered to them.
//   2. Tasks leave: their barriers end; queries for living tasks are answered; their polls end.
//   3. A barrier ends: the consequences for tasks are handled (1 or 2, for the service's own
//      barriers); its callers are answered, in order of their tasks.
// The depth is bounded, because each of the service's own barriers ends once per generation.
#pragma once

#include "server/core/coordination/transitions/barrier_callers.hpp"
#include "server/core/coordination/transitions/membership.hpp"

namespace muster::core::coordination {

class error_propagation {
 public:
  error_propagation(step_frame& step, membership& members, task_queries& queries,
                    error_polling& polls, generation_record& record, barrier_callers& callers)
      : step_(step),
        members_(members),
        queries_(queries),
        polls_(polls),
        record_(record),
        callers_(callers) {}

  /// Fails tasks at the same time, each with its own error. Unless the cluster is recoverable, all
  /// tasks receive `told`, once per generation.
  void fail(std::vector<task_error> const& errors, fault_ptr const& told, failed_why why);
  void fail(task_index t, fault_ptr const& f, failed_why why) { fail({{t, f}}, f, why); }
  /// Handles fail_cluster, and answers all polls. REQUIRES: the generation has not failed.
  void announce_external_failure(fault_ptr const& f, bool refuses);
  /// Ends running barriers. If errors cannot be delivered, puts all tasks in error. REQUIRES:
  /// announce_external_failure() was called, and queries for living tasks were answered.
  void finish_external_failure(fault_ptr const& f);
  /// Disconnects the tasks that are connected or in error. A shutdown does not report incidents.
  void leave(std::vector<task_index> const& tasks, left_why why);
  void leave_barriers(std::vector<task_error> const& gone);
  /// REQUIRES: the barrier is running.
  barrier_end end_barrier(barrier_number n, barrier_verdict v);

 private:
  void fail_all_tasks(std::string const& message, failed_why why);
  void part(std::vector<task_error> const& gone);
  void handle_barrier_end(barrier_end const& e);
  void registration_ended(barrier_end const& e);
  void shutdown_failed(fault_ptr const& f);

  step_frame& step_;
  membership& members_;
  task_queries& queries_;
  error_polling& polls_;
  generation_record& record_;
  barrier_callers& callers_;
};

}  // namespace muster::core::coordination
