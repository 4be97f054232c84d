// Error messages for callers of barriers that cannot pass.
#pragma once

#include "server/core/coordination/task_descriptions.hpp"
#include "server/core/coordination/transitions/generation_record.hpp"

namespace muster::core::coordination {

class barrier_faults {
 public:
  barrier_faults(step_frame& step, task_registry const& registry, barrier_table& barriers,
                 task_descriptions const& words, generation_record const& record)
      : step_(step),
        registry_(registry),
        barriers_(barriers),
        descriptions_(words),
        record_(record) {}

  /// Returns why a new instance can never pass, or null if it can pass. `unknown` is the name of a
  /// participant that is not in the cluster.
  fault_ptr unsatisfiable(barrier const& b, std::string const& unknown) const;
  /// `who` is the caller's own name.
  fault_ptr unfit(barrier const& b, arrival const& a, arrival_fit fit, task_ref const& who,
                  std::string const& unknown) const;
  fault_ptr timed_out(barrier const& b);
  fault_ptr broken_by(barrier const& b, task_error const& leaver) const;
  fault_ptr shutdown_failed(fault_ptr const& result) const;

  /// Returns the message for a caller whose deadline is near. `waited` is how long the caller has
  /// waited.
  std::string early(barrier const& b, std::string const& waited);
  std::string missing_task_message(barrier const& b, task_index t) const;
  /// Describes the missing tasks. Cached for a second unless tasks arrive or leave, because ten
  /// thousand callers with the same deadline need the text.
  std::string const& missing(barrier const& b);
  static std::string shown(std::string_view id) {
    return shortened(id, task_descriptions::id_shown);
  }

 private:
  fault_ptr miscounted(barrier const& b, arrival const& a, std::string const& who) const;

  step_frame& step_;
  task_registry const& registry_;
  barrier_table& barriers_;
  task_descriptions const& descriptions_;
  generation_record const& record_;
};

}  // namespace muster::core::coordination
