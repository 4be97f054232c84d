// What a step has at hand: its time, what it says to the outside, and what it has noted to be
// carried on at its end (see coordinator.hpp). Beside that the two things that outlive a step and
// belong to no sub-model: alarms and calls that wait.
//
// Owned by the coordinator; engine thread only.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "server/core/api/config.hpp"
#include "server/core/api/effects.hpp"
#include "server/core/common/alarms.hpp"
#include "server/core/records/closure_table.hpp"
#include "server/core/state/waiters.hpp"

namespace muster::core {

/// What happens at a time of its own; the id is a closure's, a session's, a stream's or a gang's.
enum class alarm_kind : std::uint8_t {
  start,             ///< a queued closure may be dispatched
  closure_deadline,  ///< a closure must have finished
  job_deadline,      ///< a job must have finished
  session_lease,     ///< a session's client must have come back
  worker_return,     ///< a closure waits no longer for a worker that is away
  worker_start,      ///< a worker's staggered start
  gang,              ///< a gang has waited long enough
  state_lost,        ///< a task that holds state has been away for too long
  retract,           ///< workers with idle slots have waited long enough; id 0
  value_age,         ///< a finished job, or the oldest value a session holds, is too old
};

/// Of a closure that lacks an input, or cannot have it.
inline failure input_failure(std::string message) {
  return {failure_kind::input, "", std::move(message), "", "", 0};
}

/// An ended input whose dependents have not been told; told at the end of the step, one after the
/// other, so that a chain of them does not nest.
struct ended_input {
  closure_id id{};
  bool ok = true;
  blob value;
  failure why;  // !ok: what those fail with who wait for it
  std::vector<closure_id> dependents;
};

struct step_frame {
  step_frame(core::config c, time_point start) : config(std::move(c)), now(start) {}

  core::config const config;
  time_point now;
  bool stopping = false;
  effects fx;
  core::alarms<alarm_kind> alarms;
  core::waiters waiters;

  // Noted in this step, carried on at its end.
  std::deque<ended_input> ended_inputs;
  std::vector<closure_id> starts_due;  // delayed closures whose start has come
  std::vector<closure_id> to_check;    // queues without a worker; see lifecycle
  bool check_all = false;              // as `to_check`, every closure that waits
  std::vector<std::pair<closure_id, failure>>
      failed_inputs;  // closures that lack an input for good

  void tell(incident i) { fx.changes.incidents.push_back(std::move(i)); }
  void answer(call_id call, status s, decltype(reply::body) body = {}) {
    if (call != call_id{}) fx.replies.push_back({call, std::move(s), std::move(body)});
  }
  bool refuse_when_stopping(call_id call) {
    if (stopping) answer(call, {code::unavailable, "the server is shutting down"});
    return stopping;
  }
};

}  // namespace muster::core
