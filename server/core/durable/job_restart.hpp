// Durable jobs and sessions of an earlier process begin again where the journal's last entry left
// them: what has ended has its value, what has not is queued, with the same ids. A session waits
// for its client as if the stream had just broken.
//
// Owned by the coordinator, used within its first steps; engine thread only.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "server/core/closures/closure_book.hpp"
#include "server/core/moves/closure_intake.hpp"
#include "server/core/moves/closure_life.hpp"
#include "server/core/moves/session_flow.hpp"
#include "server/core/moves/step_frame.hpp"
#include "server/core/moves/value_keeping.hpp"
#include "server/core/per_worker/component_builds.hpp"
#include "server/core/records/closure_table.hpp"
#include "server/core/records/place_table.hpp"
#include "server/core/scheduling/scheduler.hpp"
#include "server/core/sessions/ended_rows.hpp"
#include "server/core/sessions/session_table.hpp"
#include "server/core/values/value_store.hpp"

namespace muster::core {

class job_restart {
 public:
  job_restart(step_frame& step, closure_table& closures, place_table& places, closure_book& book,
              core::scheduler& scheduler, component_builds& builds, session_table& sessions,
              ended_rows& rows, value_store& values, session_flow& flow, value_keeping& keeping,
              closure_life& life, closure_intake& intake)
      : step_(step),
        closures_(closures),
        places_(places),
        book_(book),
        scheduler_(scheduler),
        builds_(builds),
        sessions_(sessions),
        rows_(rows),
        values_(values),
        flow_(flow),
        keeping_(keeping),
        life_(life),
        intake_(intake) {}

  /// Consumes the jobs. REQUIRES: nothing was scheduled yet.
  void restore(std::vector<restored_job>& jobs);

 private:
  /// A request's closures that have not ended, for closure_intake::resume.
  struct request {
    session* of;
    std::vector<closure_spec> specs;
    std::vector<slot> closures;
  };

  session& open(job_fact& f);
  std::vector<function_id> functions_of(accepted_fact const& f);
  void restore_closures(session& s, restored_job& j, std::vector<request>& waiting);
  void restore_held(session& s, slot c);
  void restore_values(session* owner, std::vector<per_worker_fact>& values);
  void release_values();
  void tell_inputs(session const& s);
  void restore_past(slot c, closure_fact& f);
  void end(slot c, closure_fact& f);
  void go_on(session& s);
  std::uint32_t place_of(attempt_fact const& a);

  step_frame& step_;
  closure_table& closures_;
  place_table& places_;
  closure_book& book_;
  core::scheduler& scheduler_;
  component_builds& builds_;
  session_table& sessions_;
  ended_rows& rows_;
  value_store& values_;
  session_flow& flow_;
  value_keeping& keeping_;
  closure_life& life_;
  closure_intake& intake_;
  std::map<std::pair<std::string, core::incarnation>, std::uint32_t> known_places_;
};

}  // namespace muster::core
