// The current step: its time, its effects, and work deferred to its end (see coordinator.hpp). Also
// holds the alarms and parked calls, which outlive a step and belong to no sub-model.
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

/// Events that happen at a set time. An alarm's id names a closure, session, stream or gang.
enum class alarm_kind : std::uint8_t {
  start,             ///< a queued closure may be dispatched
  closure_deadline,  ///< a closure must have finished
  job_deadline,      ///< a job must have finished
  session_lease,     ///< a session's client must have come back
  worker_return,     ///< a closure stops waiting for a disconnected worker
  worker_start,      ///< a worker's staggered start
  gang,              ///< a gang has waited long enough
  state_lost,        ///< a task that holds state has been disconnected for too long
  retract,           ///< workers with idle slots have waited long enough; id 0
  value_age,         ///< a finished job, or the oldest value a session holds, is too old
};

inline failure input_failure(std::string message) {
  return {failure_kind::input, "", std::move(message), "", "", 0};
}

/// An ended input whose dependents are yet to be informed. This happens at the end of the step in a
/// loop, so that a chain of dependents needs no recursion.
struct ended_input {
  closure_id id{};
  bool ok = true;
  blob value;
  failure why;  // !ok: the error of the dependents
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

  // Deferred to the end of the step.
  std::deque<ended_input> ended_inputs;
  std::vector<closure_id> starts_due;  // delayed closures that are now due
  // Queued closures that no worker may be able to run; see lifecycle.
  std::vector<closure_id> to_check;
  bool check_all = false;  // check every waiting closure instead of `to_check`
  std::vector<std::pair<closure_id, failure>>
      // Closures whose input is lost for good.
      failed_inputs;

  void report_incident(incident i) { fx.changes.incidents.push_back(std::move(i)); }
  void answer(call_id call, status s, decltype(reply::body) body = {}) {
    if (call != call_id{}) fx.replies.push_back({call, std::move(s), std::move(body)});
  }
  bool refuse_when_stopping(call_id call) {
    if (stopping) answer(call, {code::unavailable, "the server is shutting down"});
    return stopping;
  }
};

}  // namespace muster::core
