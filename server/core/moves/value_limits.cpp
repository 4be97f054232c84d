// What is released goes the oldest first: a finished job as a whole, a value of a session alone,
// its record staying, so that its client does not run the closure again.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/check.hpp"
#include "server/core/moves/session_ends.hpp"

namespace muster::core {

bool session_ends::forget_oldest_job(release_reason why) {
  auto* s = sessions_.pop_oldest_finished();
  if (!s) return false;
  step_.metrics.values_dropped[static_cast<std::size_t>(why)] += flow_.of(*s).counts.succeeded;
  release_session(*s, why);
  return true;
}

bool session_ends::forget_oldest_ended() {
  auto* s = sessions_.pop_oldest_ended();
  if (s) release_session(*s, release_reason::session_end);
  return s != nullptr;
}

// Of all sessions and jobs, unfinished ones too: only when the disk does not take them.
bool session_ends::drop_oldest_in_memory() {
  slot const c = values_.pop_oldest_in_memory();
  if (c == no_slot) return false;
  keeping_.drop_value(c, release_reason::bytes);
  return true;
}

bool session_ends::over_a_limit() const {
  return values_.over_memory() || values_.over_disk() ||
         sessions_.finished_count() > step_.config.finished_jobs_max ||
         sessions_.ended_count() > step_.config.ended_sessions_max;
}

void session_ends::keep_within_limits() {
  while (sessions_.finished_count() > step_.config.finished_jobs_max)
    if (!forget_oldest_job(release_reason::jobs)) break;
  while (sessions_.ended_count() > step_.config.ended_sessions_max)
    if (!forget_oldest_ended()) break;
  while (values_.over_disk())
    keeping_.drop_value(values_.pop_oldest_on_disk(), release_reason::spill_bytes);
  if (step_.config.spill) values_.write(step_.now);
  while (values_.too_much_in_memory()) {
    if (step_.config.spill && drop_oldest_in_memory()) continue;
    if (!forget_oldest_job(release_reason::bytes)) break;
  }
}

}  // namespace muster::core
