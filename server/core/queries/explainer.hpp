// Explains why a closure waits, was moved or failed.
//
// Used only on the engine thread.
#pragma once

#include <optional>
#include <string>

#include "server/core/api/explanation.hpp"
#include "server/core/api/waiting_views.hpp"
#include "server/core/transitions/lifecycle/release_texts.hpp"
#include "server/core/transitions/placing/version_watch.hpp"
#include "server/core/transitions/workers/worker_events.hpp"

namespace muster::core {

/// Returns the options of a closure that has these needs.
closure_options needs_of(requirement const& r);

class explainer {
 public:
  explainer(engine_state const& core, release_texts const& texts, worker_events const& workers,
            version_watch const& versions)
      : core_(core), texts_(texts), workers_(workers), versions_(versions) {}

  /// REQUIRES: the closure exists.
  explanation explain(slot c, time_point now) const;
  /// Returns why no worker can run the closure now, or nothing if a worker can.
  std::optional<worker_shortage> without_worker(slot c) const;
  /// Returns whether the closure waits only for a worker and no connected worker can run it.
  bool has_no_worker(slot c) const;

  /// Return gangs and closures that wait for missing workers, up to a limit of visited workers.
  gangs_view gangs() const;
  unmet_demand_view unmet_demand() const;

 private:
  /// Counts the workers that have the function but accept no closures. Returns nothing if there are
  /// no such workers.
  std::optional<worker_shortage> not_serving(function_id f) const;
  /// Returns when the first worker with the function starts. Returns nothing if a worker has
  /// already started, or if no worker has the function.
  std::optional<worker_shortage> starting(function_id f) const;
  void explain_blocked(slot c, time_point now, explanation& into) const;
  /// Explains a wait for an input that is being recomputed. Returns false if the input is not being
  /// recomputed.
  bool explain_rebuild(closure_id input, time_point now, explanation& into) const;
  void explain_waiting(slot c, time_point now, explanation& into) const;
  void explain_queued(slot c, time_point now, explanation& into) const;
  void explain_delayed(slot c, time_point now, explanation& into) const;
  void explain_prefetched(slot c, time_point now, explanation& into) const;
  void explain_running(slot c, time_point now, explanation& into) const;
  void explain_ended(slot c, explanation& into) const;
  void explain_loss(slot c, time_point now, explanation& into) const;
  /// @param fits whether the connected workers are large enough for the gang
  static gang_wait wait_of(gang const& g, bool fits) { return {g.name, g.size, g.ready, fits}; }
  gang_view view_of(gang const& g, bool fits) const;
  /// REQUIRES: the queue is not empty.
  demand_view demand_of(closure_queue const& l, session_id job) const;
  /// Workers that could run the closures of a queue.
  struct takers {
    std::uint64_t serving = 0, cordoned = 0, draining = 0;
    std::string first_cordoned;  // "worker:3"
  };
  takers takers_of(closure_queue const& l) const;
  /// Returns the error of the last build of a required per-worker value.
  std::string why_not_built(requirement const& r) const;
  /// Counts suitable workers that are cordoned or draining. Returns nothing if other suitable
  /// workers accept closures.
  std::optional<worker_shortage> held_back(slot c) const;
  void explain_exclusive(slot c, explanation& into) const;

  engine_state const& core_;
  release_texts const& texts_;
  worker_events const& workers_;
  version_watch const& versions_;
};

}  // namespace muster::core
