// Texts about values and sessions that no longer exist. Used only on the engine thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/core/state/engine_state.hpp"

namespace muster::core {

class release_texts {
 public:
  explicit release_texts(engine_state& core) : core_(core) {}

  /// The unknown_* functions return NOT_FOUND and, if known, why the object was removed.
  status unknown_per_worker(per_worker_id id) const;
  std::string released_text(closure_id id) const;
  status unknown_value(closure_id id) const;
  status unknown_session(session_id id) const;

 private:
  std::string when_and_why(release_note const& n) const;

  engine_state& core_;
};

}  // namespace muster::core
