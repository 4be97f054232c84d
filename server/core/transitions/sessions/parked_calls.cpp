#include "server/core/transitions/sessions/parked_calls.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace muster::core {

void parked_calls::park_join(session& s, join_session const& e) {
  if (s.traits().unary) flow_.renew_lease(s, core_.step.now);
  if (!s.stopping &&
      (e.mode == join_mode::settle || flow_.idle(s) || (s.traits().unary && s.raised)))
    return core_.step.answer(e.call, {}, ends_.collect(s));
  if (e.deadline <= core_.step.now)
    return core_.step.answer(e.call, {code::deadline_exceeded, text(s.id) + " is still running"},
                             ends_.joined(s));
  if (core_.step.waiters.size() >= core_.step.config.parked_calls_max)
    return core_.step.answer(e.call,
                             {code::resource_exhausted,
                              std::to_string(core_.step.waiters.size()) +
                                  " requests are already waiting for results, which is the limit"});
  if (s.traits().unary) flow_.renew_lease(s, e.deadline);
  core_.step.waiters.park(e.call, {e.session, {}, e.deadline, e.mode});
  s.joins.push_back(e.call);
}

void parked_calls::join(join_session const& e) {
  if (core_.step.refuse_when_stopping(e.call)) return;
  auto* s = core_.sessions.find(e.session);
  if (!s) return core_.step.answer(e.call, texts_.unknown_session(e.session));
  if (e.mode != join_mode::watch && s->traits().generations)
    return s->has_ended() ? core_.step.answer(e.call, texts_.unknown_session(e.session))
                          : park_join(*s, e);
  if (s->terminal()) return core_.step.answer(e.call, {}, ends_.joined(*s));
  if (e.deadline <= core_.step.now)
    return core_.step.answer(e.call, {code::deadline_exceeded, text(s->id) + " is still running"},
                             ends_.joined(*s));
  if (core_.step.waiters.size() >= core_.step.config.parked_calls_max)
    return core_.step.answer(e.call,
                             {code::resource_exhausted,
                              std::to_string(core_.step.waiters.size()) +
                                  " requests are already waiting for results, which is the limit"});
  core_.step.waiters.park(e.call, {e.session, {}, e.deadline});
  s->joins.push_back(e.call);
}

void parked_calls::await(await_value const& e) {
  if (core_.step.refuse_when_stopping(e.call)) return;
  slot const c = core_.closures.find(e.closure);
  bool const lost = c != no_slot && core_.closures[c].where == value_place::gone;
  if (c == no_slot || (lost && !admission_.why_not_again(c).empty()))
    return core_.step.answer(e.call, texts_.unknown_value(e.closure));
  auto& r = core_.closures[c];
  if (auto& s = core_.sessions.of(r.owner); s.traits().unary)
    flow_.renew_lease(s, ended(r.state()) ? core_.step.now : std::max(core_.step.now, e.deadline));
  bool const there = ended(r.state()) && r.where != value_place::disk && !lost;
  if (there) {
    core_.step.fx.changes.waits.value.push_back({});
    return core_.step.answer(e.call, {}, keeping_.value_of(c));
  }
  if (e.deadline <= core_.step.now)
    return core_.step.answer(
        e.call,
        {code::deadline_exceeded,
         text(e.closure) + (ended(r.state()) ? " has to be read from disk" : " has not finished")});
  if (core_.step.waiters.size() >= core_.step.config.parked_calls_max)
    return core_.step.answer(e.call,
                             {code::resource_exhausted,
                              std::to_string(core_.step.waiters.size()) +
                                  " requests are already waiting for results, which is the limit"});
  core_.step.waiters.park(e.call, {{}, e.closure, e.deadline, join_mode::watch, core_.step.now});
  r.awaited = true;
  if (lost)
    admission_.run_again(c);
  else if (ended(r.state()))
    core_.values.read(c);
}

}  // namespace muster::core
