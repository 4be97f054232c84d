// What a step changed of durable jobs and sessions, as facts: see api/facts.hpp. Reads the records
// only.
//
// Owned by the coordinator, used at the end of a step; engine thread only.
#pragma once

#include <vector>

#include "server/core/state/engine_state.hpp"

namespace muster::core {

class job_facts {
 public:
  explicit job_facts(engine_state& core) : core_(core) {}

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

  engine_state& core_;
};

}  // namespace muster::core
