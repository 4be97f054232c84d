// Calls that wait: for a job, for a value.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/check.hpp"
#include "server/core/moves/session_requests.hpp"

namespace muster::core {

void session_requests::park_join(session& s, join_session const& e) {
  if (s.by_calls()) flow_.renew_lease(s, step_.now);
  if (!s.stopping && (e.mode == join_mode::settle || flow_.idle(s) || (s.by_calls() && s.raised)))
    return step_.answer(e.call, {}, ends_.collect(s));
  if (e.deadline <= step_.now)
    return step_.answer(e.call, {code::deadline_exceeded, text(s.id) + " is still running"},
                        ends_.joined(s));
  if (step_.waiters.size() >= step_.config.parked_calls_max)
    return step_.answer(e.call, {code::resource_exhausted, std::to_string(step_.waiters.size()) +
                                                               " calls are waiting, the limit"});
  if (s.by_calls()) flow_.renew_lease(s, e.deadline);
  step_.waiters.park(e.call, {e.session, {}, e.deadline, e.mode});
  s.joins.push_back(e.call);
}

void session_requests::cancel_one(cancel_closure const& e) {
  slot const c = closures_.find(e.closure);
  if (c == no_slot) return step_.answer(e.call, texts_.unknown_value(e.closure));
  if (closures_[c].worker != worker_number{}) {
    life_.ask_to_stop(c);
    return step_.answer(e.call, {});
  }
  switch (closures_[c].state) {
    case closure_state::blocked:
    case closure_state::queued:
      life_.cancel(c, "cancelled");
      break;
    default:
      break;  // ended already; cancelling it again is no error
  }
  step_.answer(e.call, {});
}

void session_requests::join(join_session const& e) {
  if (step_.refuse_when_stopping(e.call)) return;
  auto* s = sessions_.find(e.session);
  if (!s) return step_.answer(e.call, texts_.unknown_session(e.session));
  if (e.mode != join_mode::watch && s->streaming())
    return s->has_ended() ? step_.answer(e.call, texts_.unknown_session(e.session))
                          : park_join(*s, e);
  if (s->terminal()) return step_.answer(e.call, {}, ends_.joined(*s));
  if (e.deadline <= step_.now)
    return step_.answer(e.call, {code::deadline_exceeded, text(s->id) + " is still running"},
                        ends_.joined(*s));
  if (step_.waiters.size() >= step_.config.parked_calls_max)
    return step_.answer(e.call, {code::resource_exhausted, std::to_string(step_.waiters.size()) +
                                                               " calls are waiting, the limit"});
  step_.waiters.park(e.call, {e.session, {}, e.deadline});
  s->joins.push_back(e.call);
}

void session_requests::await(await_value const& e) {
  if (step_.refuse_when_stopping(e.call)) return;
  slot const c = closures_.find(e.closure);
  bool const lost = c != no_slot && closures_[c].where == value_place::gone;
  if (c == no_slot || (lost && !intake_.why_not_again(c).empty()))
    return step_.answer(e.call, texts_.unknown_value(e.closure));
  auto& r = closures_[c];
  if (auto& s = sessions_.of(r.owner); s.by_calls())
    flow_.renew_lease(s, ended(r.state) ? step_.now : std::max(step_.now, e.deadline));
  bool const there = ended(r.state) && r.where != value_place::disk && !lost;
  if (there) {
    step_.metrics.value_wait.add({});
    return step_.answer(e.call, {}, keeping_.value_of(c));
  }
  if (e.deadline <= step_.now)
    return step_.answer(e.call,
                        {code::deadline_exceeded,
                         text(e.closure) + (ended(r.state) ? " has to be read back from the disk"
                                                           : " has not finished")});
  if (step_.waiters.size() >= step_.config.parked_calls_max)
    return step_.answer(e.call, {code::resource_exhausted, std::to_string(step_.waiters.size()) +
                                                               " calls are waiting, the limit"});
  step_.waiters.park(e.call, {{}, e.closure, e.deadline, join_mode::watch, step_.now});
  r.awaited = true;
  if (lost)
    intake_.run_again(c);
  else if (ended(r.state))
    values_.read(c);
}

}  // namespace muster::core
