// Queries about jobs and sessions. Results are copies; errors contain the id.
//
// Used only on the engine thread.
#pragma once

#include <string_view>

#include "server/core/api/views.hpp"

namespace muster::core {

struct engine_state;
class release_texts;

struct submitter_usage {
  std::uint64_t sessions = 0;  // unfinished jobs and programs, and open sessions
  std::uint64_t queued = 0;
  std::uint64_t ranks = 0;       // ranks of unfinished programs
  std::uint64_t per_worker = 0;  // unreleased per-worker values
  std::uint64_t value_bytes = 0;
};

class session_queries {
 public:
  session_queries(engine_state const& core, release_texts const& texts)
      : core_(core), texts_(texts) {}

  result<job_view> find(session_id id) const;
  /// Returns REST jobs and streaming sessions with ids below `before`, newest first; 0 means no
  /// limit.
  page<job_view, session_id> list(session_id before, std::size_t limit) const;
  bool has_key(session_spec const& like) const;
  /// Returns a token id. Empty if the session is unknown or was not authenticated.
  std::string_view submitter(session_id id) const;
  void add_usage(std::string_view submitter, submitter_usage& into) const;
  /// Returns the time since which closures have been waiting in a cluster without workers, or
  /// `never`. This is when the oldest waiting session was created or the last worker was lost,
  /// whichever is later.
  time_point waits_since() const;

 private:
  engine_state const& core_;
  release_texts const& texts_;
};

}  // namespace muster::core
