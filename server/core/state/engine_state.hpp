// The complete closure state of one cluster: independent sub-models and the data of the current
// step. Only transitions modify it, and only queries read it.
//
// Owned by the coordinator; used only on the engine thread. Each sub-model enforces its own limits.
#pragma once

#include "server/core/closures/closure_book.hpp"
#include "server/core/per_worker/component_builds.hpp"
#include "server/core/policies/stateful_tasks.hpp"
#include "server/core/policies/transient_failures.hpp"
#include "server/core/policies/watchdog.hpp"
#include "server/core/programs/controller.hpp"
#include "server/core/records/closure_table.hpp"
#include "server/core/records/place_table.hpp"
#include "server/core/scheduling/scheduler.hpp"
#include "server/core/sessions/session_table.hpp"
#include "server/core/state/slot_ledger.hpp"
#include "server/core/state/step_frame.hpp"
#include "server/core/values/lineage_book.hpp"
#include "server/core/values/value_store.hpp"
#include "server/core/workers/worker_registry.hpp"

namespace muster::core {

struct engine_state {
  /// `w` must outlive this object.
  engine_state(core::config c, time_point start, server_wide& w)
      : wide(w), step(std::move(c), start) {}

  attempt_view attempt_of(attempt_record const& a) const {
    if (a.place == place_table::none)
      return {a.attempt, {}, {}, {}, a.started, a.ended, a.outcome, a.blamed};
    auto const& p = places[a.place];
    return {a.attempt, p.worker, p.incarnation, p.host, a.started, a.ended, a.outcome, a.blamed};
  }

  server_wide& wide;
  step_frame step;
  closure_table closures{wide};
  place_table places{step.fx.changes};
  closure_book book{closures, step.config, step.fx.changes};
  core::scheduler scheduler{closures};
  worker_registry registry{step.config, wide, step.fx.changes};
  component_builds builds{wide, step.fx.changes};
  session_table sessions{wide, step.fx.changes};
  session& builders{sessions.open_own(delivery::build)};  // owns the closures of builds
  // Owns the closures that recompute values.
  session& rebuilders{sessions.open_own(delivery::rebuild)};
  value_store values{closures, step.config, wide, step.fx.changes};
  lineage_book lineage;
  core::watchdog watchdog{step.config.watchdog};
  transient_failures failures{step.config};
  stateful_tasks stateful{step.config};
  slot_ledger resources{scheduler};
  programs::controller programs{step.config.programs, wide.last_program, resources};
};

}  // namespace muster::core
