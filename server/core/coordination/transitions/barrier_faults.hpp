// What callers of barriers are told that cannot pass, in words. Owned by `service`; engine thread
// only; pure.
#pragma once

#include "server/core/coordination/transitions/generation_record.hpp"
#include "server/core/coordination/wording.hpp"

namespace muster::core::coordination {

class barrier_faults {
 public:
  /// REQUIRES: all outlive it.
  barrier_faults(step_frame& step, task_registry const& registry, barrier_table& barriers,
                 wording const& words, generation_record const& record)
      : step_(step), registry_(registry), barriers_(barriers), words_(words), record_(record) {}

  /// Why an instance that has just been opened can never pass; null when it can. `unknown`: a
  /// participant that the cluster does not have, as the caller names it.
  fault_ptr unsatisfiable(barrier const& b, std::string const& unknown) const;
  /// The call does not go together with the instance. `who`: as the caller names itself.
  fault_ptr unfit(barrier const& b, arrival const& a, arrival_fit fit, task_ref const& who,
                  std::string const& unknown) const;
  fault_ptr timed_out(barrier const& b);
  /// A task that does not come back has failed or left.
  fault_ptr broken_by(barrier const& b, task_error const& leaver) const;
  /// What the shutdown barrier's result means to its callers.
  fault_ptr shutdown_failed(fault_ptr const& result) const;

  /// A caller's own deadline is near. `waited`: for how long it has.
  std::string early(barrier const& b, std::string const& waited);
  /// A task has broken a barrier that the whole run needs.
  std::string never_came(barrier const& b, task_index t) const;
  /// Who has not come. Made once a second at most unless somebody comes or goes: ten thousand
  /// callers with one deadline all ask for it.
  std::string const& missing(barrier const& b);
  static std::string shown(std::string_view id) { return shortened(id, wording::id_shown); }

 private:
  fault_ptr miscounted(barrier const& b, arrival const& a, std::string const& who) const;

  step_frame& step_;
  task_registry const& registry_;
  barrier_table& barriers_;
  wording const& words_;
  generation_record const& record_;
};

}  // namespace muster::core::coordination
