// Barriers as tasks ask for them: entering, cancelling, running out of time. Owned by `service`;
// engine thread only; pure.
#pragma once

#include "server/core/coordination/transitions/error_propagation.hpp"

namespace muster::core::coordination {

class barrier_service {
 public:
  /// REQUIRES: all outlive it.
  barrier_service(step_frame& step, task_registry const& registry, barrier_table& barriers,
                  barrier_faults& faults, barrier_callers& callers, error_propagation& propagation)
      : step_(step),
        registry_(registry),
        barriers_(barriers),
        faults_(faults),
        callers_(callers),
        propagation_(propagation) {}

  // Each answers or parks its call.
  void on(enter_barrier& r);
  /// Brings the task's devices and waits for those of all.
  void on(wait_for_all_tasks& r);
  /// Ends a running use of a barrier for everybody in it. NOT_FOUND, FAILED_PRECONDITION.
  void on(cancel_barrier& r);
  /// `who`: as the caller names itself. `unknown`: a participant it names that the cluster does not
  /// have. `i`: of a registration. True: nothing became of the call, since all have registered long
  /// ago: one that was reset joins them, which is the caller's to carry on. Otherwise the call is
  /// answered or parked.
  bool enter(caller const& from, arrival a, task_ref const& who, std::string const& unknown = {},
             core::incarnation i = {});

  /// When the first of them is due.
  time_point due() const { return barriers_.next_due(); }
  /// REQUIRES: it is due.
  void first_due();

 private:
  step_frame& step_;
  task_registry const& registry_;
  barrier_table& barriers_;
  barrier_faults& faults_;
  barrier_callers& callers_;
  error_propagation& propagation_;
};

}  // namespace muster::core::coordination
