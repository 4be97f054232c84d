// Resumes durable jobs and sessions from an earlier server process. Finished closures keep their
// results; unfinished closures are queued again with the same ids. A session waits for its client
// as it does after a broken stream. Used only on the engine thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "server/core/state/engine_state.hpp"
#include "server/core/transitions/admission/admission.hpp"
#include "server/core/transitions/lifecycle/lifecycle.hpp"
#include "server/core/transitions/lifecycle/session_flow.hpp"
#include "server/core/transitions/lifecycle/value_keeping.hpp"

namespace muster::core {

class job_restart {
 public:
  job_restart(engine_state& core, session_flow& flow, value_keeping& keeping, lifecycle& life,
              admission& admitting)
      : core_(core), flow_(flow), keeping_(keeping), life_(life), admission_(admitting) {}

  /// Consumes the jobs. REQUIRES: nothing has been scheduled yet.
  void restore(std::vector<restored_job>& jobs);

 private:
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
  void restore_dependents(session const& s);
  void restore_attempts(slot c, closure_fact& f);
  void end(slot c, closure_fact& f);
  void go_on(session& s);
  std::uint32_t place_of(attempt_view const& a);

  engine_state& core_;
  session_flow& flow_;
  value_keeping& keeping_;
  lifecycle& life_;
  admission& admission_;
  std::map<std::pair<std::string, core::incarnation>, std::uint32_t> known_places_;
};

}  // namespace muster::core
