// What it means for all others that tasks fail or leave, or that one of the service's own barriers
// ends. These bring about each other, so they stand together: whoever calls hears of nothing but
// the result, and each consequence is carried on at once and completely, depth first, so that
// nobody hears of it before its cause:
//   1. Tasks fail: all that fail at one moment are marked; the generation fails and those who poll
//      are told; barriers they took part in end; sets that ask who is alive are answered; last,
//      when nobody polls, everybody else is marked.
//   2. Tasks leave: barriers they took part in end; sets that ask who is alive are answered; their
//      polls end.
//   3. A barrier ends: it is forgotten or remembered; what that means to the tasks is carried on (1
//      or 2, for the service's own barriers); its callers are answered, in order of their tasks.
// It does not nest deeply: of the service's own barriers each ends once in a generation.
//
// Owned by `service`; engine thread only; pure.
#pragma once

#include "server/core/coordination/transitions/barrier_callers.hpp"
#include "server/core/coordination/transitions/membership.hpp"

namespace muster::core::coordination {

class error_propagation {
 public:
  /// REQUIRES: all outlive it.
  error_propagation(step_frame& step, membership& members, task_queries& queries,
                    error_polling& polls, generation_record& record, barrier_callers& callers)
      : step_(step),
        members_(members),
        queries_(queries),
        polls_(polls),
        record_(record),
        callers_(callers) {}

  /// Tasks fail at one moment, each of its own error. Everybody is told the other one, once a
  /// generation, unless all of them may come and go.
  void fail(std::vector<task_error> const& errors, fault_ptr const& told, failed_why why);
  void fail(task_index t, fault_ptr const& f, failed_why why) { fail({{t, f}}, f, why); }
  /// Somebody who is none of the tasks says that the generation has failed; see fail_cluster. Those
  /// who poll are told. REQUIRES: it has not failed.
  void tell_given_up(fault_ptr const& f, bool refuses);
  /// Barriers that run end with it, and where nobody polls all tasks are in error. REQUIRES: they
  /// were told; calls that ask who is alive have ended, which this would answer as ever.
  void end_given_up(fault_ptr const& f);
  /// Those of them that are there. Of a shutdown people do not hear of each.
  void leave(std::vector<task_index> const& tasks, left_why why);
  /// The barriers that they wait at, or take part in, go on without them or end.
  void leave_barriers(std::vector<task_error> const& gone);
  /// Gives what became of it, all of whose callers have been answered. REQUIRES: it runs.
  barrier_end end_barrier(barrier_number n, barrier_verdict v);

 private:
  void fail_everybody(std::string const& message, failed_why why);
  void part(std::vector<task_error> const& gone);
  void carry_on(barrier_end const& e);
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
