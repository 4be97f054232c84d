// The oldest data is released first. Finished jobs are removed completely. A session loses only
// values: records are kept, so that the client does not run the closures again.
#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "server/core/transitions/sessions/session_ends.hpp"

namespace muster::core {

bool session_ends::forget_oldest_job(release_reason why) {
  auto* s = core_.sessions.pop_oldest_finished();
  if (!s) return false;
  release_session(*s, why);
  return true;
}

bool session_ends::forget_oldest_ended() {
  auto* s = core_.sessions.pop_oldest_ended();
  if (s) release_session(*s, release_reason::session_end);
  return s != nullptr;
}

// Affects all sessions and jobs, whether or not they are finished. Used only if values cannot be
// written to disk.
bool session_ends::drop_oldest_in_memory() {
  slot const c = core_.values.pop_oldest_in_memory();
  if (c == no_slot) return false;
  keeping_.drop_value(c, release_reason::bytes);
  return true;
}

bool session_ends::over_a_limit() const {
  return core_.values.over_memory() || core_.values.over_disk() ||
         core_.sessions.finished_count() > core_.step.config.finished_jobs_max ||
         core_.sessions.ended_count() > core_.step.config.ended_sessions_max;
}

void session_ends::keep_within_limits() {
  while (core_.sessions.finished_count() > core_.step.config.finished_jobs_max)
    if (!forget_oldest_job(release_reason::jobs)) break;
  while (core_.sessions.ended_count() > core_.step.config.ended_sessions_max)
    if (!forget_oldest_ended()) break;
  while (core_.values.over_disk())
    keeping_.drop_value(core_.values.pop_oldest_on_disk(), release_reason::spill_bytes);
  if (core_.step.config.spill) core_.values.write(core_.step.now);
  while (core_.values.too_much_in_memory()) {
    if (core_.step.config.spill && drop_oldest_in_memory()) continue;
    if (!forget_oldest_job(release_reason::bytes)) break;
  }
}

}  // namespace muster::core
