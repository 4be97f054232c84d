// Handles requests about barriers, and barriers that time out. Engine thread only; pure.
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
  /// Errors: NOT_FOUND, FAILED_PRECONDITION.
  void on(cancel_barrier& r);
  /// `who` is the caller's own name, `unknown` the name of a participant that is not in the
  /// cluster, and `i` the incarnation of a registration. Returns true, without an answer, if all
  /// tasks had already registered; the caller must then connect the task. Otherwise the call is
  /// answered or parked.
  bool enter(caller const& from, arrival a, task_ref const& who, std::string const& unknown = {},
             core::incarnation i = {});

  time_point due() const { return barriers_.next_due(); }
  /// Handles the first barrier that is due. REQUIRES: due() is reached.
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
