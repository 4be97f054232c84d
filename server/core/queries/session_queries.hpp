// What readers ask about jobs and sessions. Everything is copied; an error names the id.
//
// Handed out by the coordinator, which outlives it; engine thread only.
#pragma once

#include <string_view>

#include "server/core/api/views.hpp"

namespace muster::core {

struct engine_state;
class release_texts;

/// What one submitter has.
struct submitter_usage {
  std::uint64_t sessions = 0;    // unfinished jobs and programs, open sessions
  std::uint64_t queued = 0;      // their closures that wait
  std::uint64_t ranks = 0;       // of programs that have not ended
  std::uint64_t per_worker = 0;  // PerWorkerValues that were not released
  std::uint64_t value_bytes = 0;
};

class session_queries {
 public:
  session_queries(engine_state const& core, release_texts const& texts)
      : core_(core), texts_(texts) {}

  result<job_view> look(session_id id) const;
  /// Newest first, ids below `before` (0: from the newest), REST jobs and streams alike.
  page<job_view, session_id> list(session_id before, std::size_t limit) const;
  /// Returns whether a job with this submitter and idempotency key is known.
  bool has_key(session_spec const& like) const;
  /// Empty when there is no such session, or nobody was asked who they are.
  std::string_view submitter(session_id id) const;
  /// What the submitter has here, added to `into`.
  void add_usage(std::string_view submitter, submitter_usage& into) const;
  /// Since when something has waited for a worker, and none has left; never: nothing waits.
  time_point waits_since() const;

 private:
  engine_state const& core_;
  release_texts const& texts_;
};

}  // namespace muster::core
