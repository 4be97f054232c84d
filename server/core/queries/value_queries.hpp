// What readers ask about values that are kept, and values that each worker has of its own.
//
// Handed out by the coordinator, which outlives them; engine thread only.
#pragma once

#include "server/core/api/views.hpp"

namespace muster::core {

struct engine_state;
class release_texts;
struct value_holder;  // api/listings.hpp

class value_queries {
 public:
  explicit value_queries(engine_state const& core) : core_(core) {}

  /// Of sessions with ids above `after`: those that keep values. Looks at 2,000 a step.
  page<value_holder, session_id> holders(session_id after) const;
  /// Since when values cannot be written to the disk; never: they can.
  time_point disk_fails_since() const;
  /// There are more bytes of values than this cluster's share; see shared_budget.
  bool too_many_bytes() const;
  /// It is one of several clusters, and they keep more of them than config::value_bytes_max.
  bool too_many_bytes_in_server() const;

 private:
  engine_state const& core_;
};

class per_worker_queries {
 public:
  per_worker_queries(engine_state const& core, release_texts const& texts)
      : core_(core), texts_(texts) {}

  /// An error names the id.
  result<per_worker_view> look(per_worker_id id) const;
  /// In order of creation, ids above `after`.
  page<per_worker_view, per_worker_id> list(per_worker_id after, std::size_t limit) const;
  /// The first components, at most `limit`, whose builders have lost too many workers in a row.
  std::vector<failing_build_view> failing(std::size_t limit) const;

 private:
  engine_state const& core_;
  release_texts const& texts_;
};

}  // namespace muster::core
