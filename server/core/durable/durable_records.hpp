// Writes a step's changes to durable jobs and sessions as records. Each changed object is written
// once, in its final state; see api/facts.hpp. Used only on the engine thread.
#pragma once

#include <vector>

#include "server/core/state/engine_state.hpp"

namespace muster::core {

class durable_records {
 public:
  explicit durable_records(engine_state& core) : core_(core) {}

  /// REQUIRES: the step makes no further changes.
  void append_all();
  /// Returns records that remove all durable objects, for a cluster that is being deleted.
  std::vector<fact> forget_all() const;

 private:
  accepted_fact accepted(session const& s, closure_created const* first, std::size_t n) const;
  closure_fact of(session const& s, slot c) const;
  fact of(session_id owner, per_worker_id id) const;
  void append_session_records();
  void append_value_records();
  void append_request_records();
  void append_closure_records();
  void append_released_records();
  session* durable(session_id id);

  engine_state& core_;
  // Last lookup, cached because changes of the same session are adjacent.
  session_id asked_{};
  session* found_ = nullptr;
};

}  // namespace muster::core
