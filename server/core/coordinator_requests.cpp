// What clients ask of what they have opened: seal, cancel, close, delete; join a job, wait for a
// value.
#include <algorithm>

#include "base/check.hpp"
#include "server/core/coordinator_state.hpp"

namespace muster::core {

join_reply coordinator::state::joined(session const& s) const {
  join_reply j{
      s.terminal(), s.state, s.first_error.has_value(), {}, s.spec.keep_values ? 0 : s.generation};
  if (s.first_error) j.error = *s.first_error;
  return j;
}

void coordinator::state::seal(seal_session const& e) {
  auto* s = find_session(e.session);
  if (!s) return answer(e.call, unknown_session(e.session));
  s->sealed = true;
  settle_later(*s);
  answer(e.call, {});
}

void coordinator::state::cancel(cancel_session const& e) {
  auto* s = find_session(e.session);
  if (!s) return answer(e.call, unknown_session(e.session));
  if (!s->terminal() && !s->user_cancelled) {
    s->user_cancelled = s->spec.keep_values && !s->first_error;  // else it is failing already
    stop_session(*s, "cancelled");
  }
  answer(e.call, {});
}

void coordinator::state::close(close_session const& e) {
  auto* s = find_session(e.session);
  if (!s) return;
  check(!s->spec.keep_values, "only streaming sessions are closed");
  s->closed = true;
  stop_session(*s, "the client is gone");
}

void coordinator::state::erase(delete_session const& e) {
  auto* s = find_session(e.session);
  if (!s) return answer(e.call, unknown_session(e.session));
  if (s->holding() && !s->attached) {  // nobody serves it: an operator may end it
    s->closed = true;
    stop_session(*s, "deleted");
    return answer(e.call, {});
  }
  if (!s->spec.keep_values)
    return answer(e.call, {code::failed_precondition,
                           text(e.session) + " is a stream: it goes when its client closes it"});
  if (!s->terminal())
    return answer(e.call, {code::failed_precondition,
                           text(e.session) + " has not finished: cancel it first"});
  std::erase(finished_jobs, e.session);
  release_session(*s, release_reason::job_deleted);
  answer(e.call, {});
}

void coordinator::state::cancel(cancel_closure const& e) {
  slot const c = closures.find(e.closure);
  if (c == no_slot) return answer(e.call, unknown_value(e.closure));
  switch (closures[c].state) {
    case closure_state::blocked:
    case closure_state::queued:
      cancel(c, "cancelled");
      break;
    case closure_state::running:
      ask_to_stop(c);
      break;
    default:
      break;  // ended already; cancelling it again is no error
  }
  answer(e.call, {});
}

void coordinator::state::join(join_session const& e) {
  if (refuse_when_stopping(e.call)) return;
  auto* s = find_session(e.session);
  if (!s) return answer(e.call, unknown_session(e.session));
  if (e.mode != join_mode::watch && !s->spec.keep_values) return park_join(*s, e);
  if (s->terminal()) return answer(e.call, {}, joined(*s));
  if (e.deadline <= now)
    return answer(e.call, {code::deadline_exceeded, text(s->id) + " is still running"}, joined(*s));
  if (waiters.size() >= config.parked_calls_max)
    return answer(e.call, {code::resource_exhausted,
                           std::to_string(waiters.size()) + " calls are waiting, the limit"});
  waiters.park(e.call, {e.session, {}, e.deadline});
  s->joins.push_back(e.call);
}

void coordinator::state::await(await_value const& e) {
  if (refuse_when_stopping(e.call)) return;
  slot const c = closures.find(e.closure);
  bool const lost = c != no_slot && closures[c].where == value_place::gone;
  if (c == no_slot || (lost && !why_not_again(c).empty()))
    return answer(e.call, unknown_value(e.closure));
  auto& r = closures[c];
  if (r.owner && r.owner->spec.by_call)
    renew_lease(*r.owner, ended(r.state) ? now : std::max(now, e.deadline));
  bool const there = ended(r.state) && r.where != value_place::disk && !lost;
  if (there) {
    metrics.value_wait.add({});
    return answer(e.call, {}, value_of(c));
  }
  if (e.deadline <= now)
    return answer(e.call, {code::deadline_exceeded,
                           text(e.closure) + (ended(r.state) ? " has to be read back from the disk"
                                                             : " has not finished")});
  if (waiters.size() >= config.parked_calls_max)
    return answer(e.call, {code::resource_exhausted,
                           std::to_string(waiters.size()) + " calls are waiting, the limit"});
  waiters.park(e.call, {{}, e.closure, e.deadline, join_mode::watch, now});
  r.awaited = true;
  if (lost)
    run_again(c);
  else if (ended(r.state))
    read_value(c);
}

}  // namespace muster::core
