// What people are told of values and sessions that are not there any more, and why. Reads only.
//
// Owned by the coordinator, used within a step; engine thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/core/state/engine_state.hpp"

namespace muster::core {

class release_texts {
 public:
  explicit release_texts(engine_state& core) : core_(core) {}

  /// NOT_FOUND, with what is still known of why it is gone. The same below.
  status unknown_per_worker(per_worker_id id) const;
  std::string released_text(closure_id id) const;
  status unknown_value(closure_id id) const;
  status unknown_session(session_id id) const;

 private:
  /// "12 s ago: …"
  std::string when_and_why(release_note const& n) const;

  engine_state& core_;
};

}  // namespace muster::core
