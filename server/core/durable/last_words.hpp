// What a step changed of durable jobs and sessions, as facts: the last word on each thing that the
// step's changes name, once. See api/facts.hpp.
//
// Owned by the coordinator, used at the end of a step; engine thread only. With nothing durable a
// branch a step.
#pragma once

#include <vector>

#include "server/core/state/engine_state.hpp"

namespace muster::core {

class last_words {
 public:
  explicit last_words(engine_state& core) : core_(core) {}

  /// Appends to effects::facts. REQUIRES: nothing changes any more in this step.
  void say();
  /// For one that goes with all its jobs.
  std::vector<fact> forget_all() const;

 private:
  accepted_fact accepted(session const& s, closure_created const* first, std::size_t n) const;
  closure_fact of(session const& s, slot c) const;
  fact of(session_id owner, per_worker_id id) const;
  void say_sessions();
  void say_values();
  void say_requests();
  void say_closures();
  void say_released();
  /// Null when it is not, or not any more: one that has ended.
  session* durable(session_id id);

  engine_state& core_;
  // The session that was asked for last: changes of one session stand together.
  session_id asked_{};
  session* found_ = nullptr;
};

}  // namespace muster::core
