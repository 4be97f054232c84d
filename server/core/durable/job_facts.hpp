// What a step changed of durable jobs and sessions, as facts: see api/facts.hpp. Reads the records
// only.
//
// Owned by the coordinator, used at the end of a step; engine thread only.
#pragma once

#include <vector>

#include "server/core/closures/closure_book.hpp"
#include "server/core/moves/step_frame.hpp"
#include "server/core/per_worker/component_builds.hpp"
#include "server/core/records/closure_table.hpp"
#include "server/core/records/place_table.hpp"
#include "server/core/sessions/session_table.hpp"
#include "server/core/values/value_store.hpp"

namespace muster::core {

class job_facts {
 public:
  job_facts(step_frame& step, closure_table const& closures, place_table const& places,
            closure_book const& book, component_builds const& builds, session_table const& sessions,
            value_store const& values)
      : step_(step),
        closures_(closures),
        places_(places),
        book_(book),
        builds_(builds),
        sessions_(sessions),
        values_(values) {}

  /// Of everything that was noted in this step.
  void say();
  /// For one that goes with all its jobs.
  std::vector<fact> forget_all() const;

 private:
  job_fact of(session const& s) const;
  accepted_fact accepted(session const& s, std::vector<slot> const& all) const;
  closure_fact of(session const& s, slot c) const;
  attempt_fact of(attempt_record const& a) const;
  fact of(session_id owner, per_worker_id id) const;
  void say_forgotten();
  /// Null when it is not, or not any more: one that has ended.
  session const* durable(session_id id) const;

  step_frame& step_;
  closure_table const& closures_;
  place_table const& places_;
  closure_book const& book_;
  component_builds const& builds_;
  session_table const& sessions_;
  value_store const& values_;
};

}  // namespace muster::core
