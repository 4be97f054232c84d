// Handles requests about barriers, and barriers that time out.
#pragma once

#include "server/core/coordination/transitions/error_propagation.hpp"

namespace muster::core::coordination {

class barrier_service {
 public:
  barrier_service(step_frame& step, task_registry const& registry, barrier_table& barriers,
                  barrier_faults& faults, barrier_callers& callers, error_propagation& propagation)
      : step_(step),
        registry_(registry),
        barriers_(barriers),
        faults_(faults),
        callers_(callers),
        propagation_(propagation) {}

  void on(enter_barrier& r);
  void on(wait_for_all_tasks& r);
  /// Fails with NOT_FOUND if there is no such barrier, or with FAILED_PRECONDITION if the instance
  /// is not running.
  void on(cancel_barrier& r);
  /// `who` is the caller's own name, `unknown` the name of a participant that is not in the
  /// cluster, and `i` the incarnation of a registration. Answers or parks the call. If all tasks
  /// had already registered, instead returns true, and the caller must connect the task.
  bool enter(caller const& from, arrival a, task_ref const& who, std::string const& unknown = {},
             core::incarnation i = {});

  time_point due() const { return barriers_.next_due(); }
  /// Handles the first barrier that is due. REQUIRES: due() has been reached.
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
