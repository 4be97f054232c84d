// The current step: its time, its effects, and work deferred to its end. Also contains the alarms
// and waiting calls, which outlive a step.
//
// Owned by the coordinator; used only on the engine thread.
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

/// An alarm's id identifies a closure, session, stream or gang.
enum class alarm_kind : std::uint8_t {
  start,
  closure_deadline,
  job_deadline,
  session_lease,  ///< a session's client has not reconnected in time
  worker_return,  ///< a closure stops waiting for its disconnected worker
  worker_start,
  gang,        ///< a gang has waited long enough
  state_lost,  ///< a stateful task has been disconnected for too long
  retract,     ///< workers with idle slots have waited long enough; the id is 0
  value_age,   ///< a finished job or a session's oldest value has expired
};

inline failure input_failure(std::string message) {
  return {failure_kind::input, "", std::move(message), "", "", 0};
}

/// A finished input whose dependents have not been informed. They are informed in a loop, to avoid
/// recursion along a chain of dependents.
struct ended_input {
  closure_id id{};
  bool ok = true;
  blob value;
  failure why;  // error of the dependents; not set if `ok`
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
  std::vector<closure_id> starts_due;  // delayed closures that can start now
  // Queued closures that possibly no worker can run; see lifecycle.
  std::vector<closure_id> to_check;
  bool check_all = false;  // if set, all waiting closures are checked instead of `to_check`
  std::vector<std::pair<closure_id, failure>>
      // Closures with a permanently lost input.
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
