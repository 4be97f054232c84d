// What people are told of values and sessions that are not there any more, and why. Reads only.
//
// Owned by the coordinator, used within a step; engine thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/core/moves/step_frame.hpp"
#include "server/core/per_worker/component_builds.hpp"
#include "server/core/records/closure_table.hpp"
#include "server/core/sessions/session_table.hpp"
#include "server/core/values/value_store.hpp"

namespace muster::core {

class release_texts {
 public:
  release_texts(step_frame& step, closure_table& closures, component_builds& builds,
                session_table& sessions, value_store& values)
      : step_(step), closures_(closures), builds_(builds), sessions_(sessions), values_(values) {}

  status unknown_per_worker(per_worker_id id) const;
  std::string released_text(closure_id id) const;
  status unknown_value(closure_id id) const;
  status unknown_session(session_id id) const;

 private:
  /// "12 s ago: …"
  std::string when_and_why(release_note const& n) const;

  step_frame& step_;
  closure_table& closures_;
  component_builds& builds_;
  session_table& sessions_;
  value_store& values_;
};

}  // namespace muster::core
