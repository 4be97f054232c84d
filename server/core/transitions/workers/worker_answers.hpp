// What workers answer: what runs, values, errors, and failures that are borne for a while.
//
// Owned by the coordinator, used within a step; engine thread only.
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

  /// What one message of a worker says: closures that have started, ended, were given back or wait
  /// for a value. Consumes the event.
  void results(worker_results& e);
  /// Of earlier streams, which may not have been taken. What nobody waits for is passed over.
  void earlier(worker_events::newcomer const& from, std::vector<worker_result>& answers);

 private:
  /// Requeues the closure, or ends it when it was reported too often, or badly. A build that is
  /// requeued is one that is made again.
  void dependency_lost(worker& w, slot c, failure f);
  void connection_lost(worker& w, slot c, failure f);
  /// Where the failure is counted; null: nowhere, it is of a build that nobody wants any more.
  transient_reports* reports_of(worker const& w, slot c);
  /// The session that asked for it; of a build the value's owner, null: none.
  session* owner_of(slot c);
  bool builds(slot c) const {
    return core_.sessions.of(core_.closures[c].owner).delivery() == delivery::build;
  }
  /// Whether a reported time-out was requeued.
  bool tolerate_timeout(worker& w, slot c, failure const& f);
  /// The answer is noted among what its worker did.
  void note(worker const& w, slot c, worker_result const& r);
  /// The same of one that was not short.
  void note_long(worker const& w, slot c, worker_result const& r, bool ok);
  /// When results of the message ended, from number `first` on.
  void lay_out(worker const& w, std::size_t first);
  /// REQUIRES: the worker holds the attempt that it answers.
  void apply_result(worker& w, slot c, worker_result& r);
  void apply_started(worker& w, started_closure const& e);
  /// What is wrong with it, or empty.
  std::string apply_wait(worker& w, closure_wait const& e);
  std::string apply_returned(worker& w, held_closure const& e);
  /// The closure when the worker holds this attempt of it, else none.
  slot held_by(worker const& w, closure_id id, std::uint32_t attempt) const;
  /// What is wrong with its saying so. REQUIRES: it does not hold it.
  std::string unheld(worker const& w, char const* said, closure_id id, std::uint32_t attempt) const;
  /// How long the newest of what its worker may be sent waits, by what this answer has taken.
  duration wait_told_by(worker_slots const& at, slot c, worker_result const& r) const;

  engine_state& core_;
  lifecycle& life_;
  worker_events& workers_;

  // Of one message. Bounded by its results.
  std::vector<worker_result> const* message_ = nullptr;
  std::vector<time_point> ends_;  // by number of the result; empty: nobody asked yet
  std::vector<time_point> free_from_;
};

}  // namespace muster::core
