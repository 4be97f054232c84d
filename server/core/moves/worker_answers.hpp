// What workers answer: what runs, values, errors, and failures that are borne for a while.
//
// Owned by the coordinator, used within a step; engine thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/core/moves/closure_life.hpp"
#include "server/core/moves/step_frame.hpp"
#include "server/core/moves/worker_events.hpp"
#include "server/core/policies/transient_failures.hpp"
#include "server/core/records/closure_table.hpp"
#include "server/core/scheduling/scheduler.hpp"
#include "server/core/sessions/session_table.hpp"
#include "server/core/workers/worker_roster.hpp"

namespace muster::core {

class worker_answers {
 public:
  worker_answers(step_frame& step, closure_table& closures, core::scheduler& scheduler,
                 worker_roster& roster, session_table& sessions, transient_failures& failures,
                 stateful_tasks& stateful, closure_life& life, worker_events& workers)
      : step_(step),
        closures_(closures),
        scheduler_(scheduler),
        roster_(roster),
        sessions_(sessions),
        failures_(failures),
        stateful_(stateful),
        life_(life),
        workers_(workers) {}

  void results(worker_results& e);

 private:
  /// Put back, or the end of the closure when it was reported too often, or badly.
  void dependency_lost(worker& w, slot c, failure f);
  /// Whether a reported time-out was put back.
  bool bear_timeout(worker& w, slot c, failure const& f);
  std::string apply_result(worker& w, worker_result& r);
  void apply_started(worker& w, started_closure const& e);
  std::string apply_returned(worker& w, held_closure const& e);
  /// Empty when the worker holds this attempt, else what is wrong with its saying so.
  std::string unheld(worker const& w, char const* said, closure_id id, std::uint32_t attempt) const;
  /// How long the newest of what its worker may be sent waits, by what this answer has taken.
  duration wait_told_by(seat const& at, worker_result const& r) const;

  step_frame& step_;
  closure_table& closures_;
  core::scheduler& scheduler_;
  worker_roster& roster_;
  session_table& sessions_;
  transient_failures& failures_;
  stateful_tasks& stateful_;
  closure_life& life_;
  worker_events& workers_;
};

}  // namespace muster::core
