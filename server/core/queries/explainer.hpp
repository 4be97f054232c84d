// Why a closure waits, moved or failed, as data. Reads only.
//
// Owned by the coordinator; engine thread only.
#pragma once

#include <optional>
#include <string>

#include "server/core/api/explanation.hpp"
#include "server/core/api/waiting_views.hpp"
#include "server/core/transitions/lifecycle/release_texts.hpp"
#include "server/core/transitions/placing/version_watch.hpp"
#include "server/core/transitions/workers/worker_events.hpp"

namespace muster::core {

class explainer {
 public:
  explainer(engine_state const& core, release_texts const& texts, worker_events const& workers,
            version_watch const& versions)
      : core_(core), texts_(texts), workers_(workers), versions_(versions) {}

  /// REQUIRES: there is such a closure.
  explanation explain(slot c, time_point now) const;
  /// It waits for nothing but a worker, and none that is here can have it.
  bool has_no_worker(slot c) const;

  /// What waits for workers that are not there, within a budget of looks at workers.
  gangs_view gangs() const;
  unmet_demand_view unmet_demand() const;

 private:
  /// Who would have the function, did they take closures; nothing when nobody would.
  std::optional<worker_lack> not_serving(function_id f) const;
  /// When every worker that has the function starts later; nothing otherwise.
  std::optional<worker_lack> starting(function_id f) const;
  void explain_blocked(slot c, time_point now, explanation& into) const;
  /// The input is made again. False: it is not.
  bool explain_made_again(closure_id input, time_point now, explanation& into) const;
  /// Inputs of one that has begun and waits for a value.
  void explain_waiting(slot c, time_point now, explanation& into) const;
  void explain_queued(slot c, time_point now, explanation& into) const;
  void explain_delayed(slot c, time_point now, explanation& into) const;
  void explain_prefetched(slot c, time_point now, explanation& into) const;
  void explain_running(slot c, time_point now, explanation& into) const;
  void explain_ended(slot c, explanation& into) const;
  /// What is to say of the attempt that was lost last.
  void explain_loss(slot c, time_point now, explanation& into) const;
  /// `fits`: the connected workers could hold it.
  static gang_wait wait_of(gang const& g, bool fits) { return {g.name, g.size, g.ready, fits}; }
  gang_view view_of(gang const& g, bool fits) const;
  /// REQUIRES: something is queued in the queue.
  demand_view demand_of(closure_queue const& l, session_id job) const;
  /// Workers that could run what is in the queue, by whether they are sent anything.
  struct takers {
    std::uint64_t serving = 0, cordoned = 0, draining = 0;
    std::string first_cordoned;  // "worker:3"
  };
  takers takers_of(closure_queue const& l) const;
  /// Why the last build of a per-worker value that the closure needs failed; empty: none did.
  std::string why_not_built(requirement const& r) const;
  /// Workers there are, but an operator holds them back; nothing when others serve.
  std::optional<worker_lack> held_back(slot c) const;
  /// Why no worker can have it just now, though it waits for nothing else; nothing when one may.
  std::optional<worker_lack> without_worker(slot c) const;
  void explain_exclusive(slot c, explanation& into) const;

  engine_state const& core_;
  release_texts const& texts_;
  worker_events const& workers_;
  version_watch const& versions_;
};

}  // namespace muster::core
