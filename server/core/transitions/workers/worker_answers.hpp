// Handles workers' messages about closures: starts, values, errors, and tolerated failures. Used
// only on the engine thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/core/state/engine_state.hpp"
#include "server/core/transitions/lifecycle/lifecycle.hpp"
#include "server/core/transitions/workers/worker_events.hpp"

namespace muster::core {

class worker_answers {
 public:
  worker_answers(engine_state& core, lifecycle& life, worker_events& workers)
      : core_(core), life_(life), workers_(workers) {}

  /// Handles closures that have started, finished, been returned, or wait for a value. Consumes the
  /// event.
  void results(worker_results& e);
  /// Handles answers that the worker sent on earlier streams and that may not have arrived. Ignores
  /// answers of unknown closures.
  void earlier(worker_events::newcomer const& from, std::vector<worker_result>& answers);

 private:
  /// Requeues the closure, or fails it if a dependency was reported too often or the report is
  /// invalid. A build is repeated.
  void dependency_lost(worker& w, slot c, failure f);
  void connection_lost(worker& w, slot c, failure f);
  /// Returns the counter for the failure, or null for a build whose value was released.
  transient_reports* reports_of(worker const& w, slot c);
  /// Returns the closure's session. For a build, returns the value's owner, or null.
  session* owner_of(slot c);
  bool builds(slot c) const {
    return core_.sessions.of(core_.closures[c].owner).delivery() == delivery::build;
  }
  bool tolerate_timeout(worker& w, slot c, failure const& f);
  void note(worker const& w, slot c, worker_result const& r);
  void note_long(worker const& w, slot c, worker_result const& r, bool ok);
  void lay_out(worker const& w, std::size_t first);
  /// REQUIRES: the worker holds the attempt that it answers.
  void apply_result(worker& w, slot c, worker_result& r);
  void apply_started(worker& w, started_closure const& e);
  std::string apply_wait(worker& w, closure_wait const& e);
  std::string apply_returned(worker& w, held_closure const& e);
  slot held_by(worker const& w, closure_id id, std::uint32_t attempt) const;
  /// REQUIRES: the worker does not hold the attempt.
  std::string describe_unheld(worker const& w, char const* said, closure_id id,
                              std::uint32_t attempt) const;
  /// Estimates from this answer how long the last closure in the worker's window would wait.
  duration estimated_wait(worker_slots const& at, slot c, worker_result const& r) const;

  engine_state& core_;
  lifecycle& life_;
  worker_events& workers_;

  std::vector<worker_result> const* message_ = nullptr;
  std::vector<time_point> ends_;  // end times by result index; empty until computed
  std::vector<time_point> free_from_;
};

}  // namespace muster::core
