// Queries about stored values and per-worker values.
//
// Used only on the engine thread.
#pragma once

#include "server/core/api/views.hpp"

namespace muster::core {

struct engine_state;
class release_texts;
struct value_holder;  // api/listings.hpp

class value_queries {
 public:
  explicit value_queries(engine_state const& core) : core_(core) {}

  /// Returns sessions that keep values, with ids above `after`. Visits at most 2,000 sessions per
  /// call.
  page<value_holder, session_id> holders(session_id after) const;
  /// Returns the time since which writing values to disk has failed, or `never`.
  time_point disk_fails_since() const;
  /// Returns whether the values in memory exceed this cluster's share; see shared_budget.
  bool too_many_bytes() const;
  /// Returns whether several clusters exist and their values together exceed
  /// config::value_bytes_max.
  bool too_many_bytes_in_server() const;

 private:
  engine_state const& core_;
};

class per_worker_queries {
 public:
  per_worker_queries(engine_state const& core, release_texts const& texts)
      : core_(core), texts_(texts) {}

  result<per_worker_view> find(per_worker_id id) const;
  page<per_worker_view, per_worker_id> list(per_worker_id after, std::size_t limit) const;
  /// Returns components whose builders have lost too many workers in a row.
  std::vector<failing_build_view> failing(std::size_t limit) const;

 private:
  engine_state const& core_;
  release_texts const& texts_;
};

}  // namespace muster::core
