// Holding sessions: the records of ended closures stay until their client releases them, so their
// values can be inputs and be fetched by others, and a client whose stream broke can come back.
//
//   attached ──suspend──► on a lease ──resume──► attached
//                             │ nobody came back
//                             ▼
//                    closed: cancelled, then forgotten
//
// A session `by_call` has no stream: every call of its client renews the lease.
#include <algorithm>

#include "base/check.hpp"
#include "server/core/coordinator_state.hpp"

namespace muster::core {

outcome coordinator::state::outcome_of(slot c) const {
  auto const& r = closures[c];
  auto const id = closures.id_of(c);
  outcome o{r.owner->id, r.token, r.state == closure_state::succeeded, r.value, {}, id};
  if (!o.ok) o.failure = r.details->failure;
  if (r.where != value_place::gone) return o;
  o.ok = false;
  o.failure.kind = failure_kind::cancelled;
  o.failure.message = released_text(id);
  o.failure.attempt = r.attempt;
  return o;
}

void coordinator::state::hold(slot c) {
  auto& r = closures[c];
  auto& s = *r.owner;
  if (r.released) r.value = {};
  fx.outcomes.push_back(outcome_of(c));
  keep_value(c);
  closures.push_back(s.held, c);
  if (r.released && s.spec.by_call) return forget_held(c);
  limit_values(s);
}

void coordinator::state::forget_held(slot c, release_reason why) {
  auto& r = closures[c];
  auto& s = *r.owner;
  closures.remove(s.held, c);
  let_value_go(c);
  s.by_token.erase(r.token);
  forget(c, why);
}

void coordinator::state::release_one(slot c) {
  auto& r = closures[c];
  auto const read = ledger.reads.find(closures.id_of(c));
  bool const told = read == ledger.reads.end() || read->second.repeat == session_id{};
  if (ended(r.state) && told) return forget_held(c);
  r.released = true;
  if (ended(r.state)) forget_value(c);  // its outcome is still to come again
}

void coordinator::state::release(release_values const& e) {
  auto* s = find_session(e.session);
  if (!s || s->closed) return answer(e.call, unknown_session(e.session));
  if (!s->holding())
    return answer(e.call, {code::failed_precondition, text(s->id) + " does not hold values"});
  if (s->spec.by_call) renew_lease(*s, now);
  for (auto const token : e.tokens)
    if (auto const it = s->by_token.find(token); it != s->by_token.end())
      release_one(closures.find(it->second));
  for (auto const id : e.closures)
    if (slot const c = closures.find(id); c != no_slot && closures[c].owner == s) release_one(c);
  answer(e.call, {});
}

bool coordinator::state::repeat(session& s, std::uint64_t token) {
  auto const it = s.by_token.find(token);
  if (it == s.by_token.end()) return false;
  slot const c = closures.find(it->second);
  if (!ended(closures[c].state)) return true;
  if (closures[c].where != value_place::disk) {
    do_not_repeat(s, it->second);  // a read that is under way is for others then
    fx.outcomes.push_back(outcome_of(c));
    return true;
  }
  auto& reading = read_value(c);
  if (reading.repeat == session_id{}) ++s.repeating;
  reading.repeat = s.id;
  reading.token = token;
  return true;
}

std::string coordinator::state::no_place_to_hold(session const& s, std::size_t n) const {
  if (value_bytes > config.value_bytes_max)
    return "held values take " + std::to_string(value_bytes) + " bytes (" +
           std::to_string(s.value_bytes) + " of them this session's), the limit is " +
           std::to_string(config.value_bytes_max) + ": release RemoteValues";
  if (closures.size() + n > config.closures_max)
    return "the server holds " + std::to_string(closures.size()) + " closures, its limit is " +
           std::to_string(config.closures_max) + ": release RemoteValues";
  return {};
}

// Scheduled and failed, not refused: what cannot be taken is an error of the session, or a join
// would pass over it.
void coordinator::state::fail_all(session& s, std::vector<closure_spec>& specs, failure_kind kind,
                                  std::string const& why) {
  std::vector<closure_id> created;
  for (auto& spec : specs) {
    if (repeat(s, spec.token)) continue;
    if (!functions.knows(spec.function)) {  // no place in any queue
      fx.outcomes.push_back({s.id, spec.token, false, {}, {kind, "", why, "", "", 0}, {}});
      continue;
    }
    spec.extras = nullptr;
    created.push_back(closures.id_of(create(s, spec)));
  }
  for (auto const id : created)
    if (slot const c = closures.find(id); closures[c].state == closure_state::queued)
      fail(c, closure_state::failed, {kind, "", why, "", "", 0});
}

void coordinator::state::renew_lease(session& s, time_point until) {
  if (s.closed) return;
  auto const grace = s.spec.detached && !s.spec.by_call ? config.detached_grace
                     : s.spec.grace > duration{}        ? s.spec.grace
                                                        : config.session_grace;
  auto const end = std::min(until, now + config.session_grace_max) + grace;
  s.lease_until = s.lease_until == never ? end : std::max(s.lease_until, end);
  if (s.lease_alarm == never) set_lease_alarm(s);  // else it rings early and is set again
}

void coordinator::state::set_lease_alarm(session& s) {
  s.lease_alarm = s.lease_until;
  alarms.set(s.lease_alarm, alarm_kind::session_lease, raw(s.id));
}

void coordinator::state::lease_rang(session& s) {
  s.lease_alarm = never;
  if (s.attached || s.closed) return;
  if (s.lease_until > now) return set_lease_alarm(s);
  if (s.spec.detached && !s.idle()) return renew_lease(s, now);
  s.closed = true;
  stop_session(s, "its client did not come back in time");
}

void coordinator::state::suspend(suspend_session const& e) {
  auto* s = find_session(e.session);
  if (!s || s->closed) return;
  check(s->holding(), "only holding sessions outlive their stream");
  s->attached = false;
  s->lease_until = never;
  renew_lease(*s, now);
}

void coordinator::state::resume(resume_session const& e) {
  if (refuse_when_stopping(e.call)) return;
  auto* s = find_session(e.session);
  if (!s || s->closed) return answer(e.call, unknown_session(e.session));
  if (!s->holding() || s->spec.by_call)
    return answer(e.call, {code::failed_precondition, text(s->id) + " cannot be resumed"});
  s->attached = true;
  s->lease_until = never;
  if (s->lease_alarm != never)
    alarms.clear(std::exchange(s->lease_alarm, never), alarm_kind::session_lease, raw(s->id));
  s->sealed = false;
  std::vector<std::uint64_t> wanted(e.tokens);
  std::sort(wanted.begin(), wanted.end());
  std::vector<closure_id> unwanted;
  for (auto const& [token, id] : s->by_token)
    if (!std::binary_search(wanted.begin(), wanted.end(), token)) unwanted.push_back(id);
  std::sort(unwanted.begin(), unwanted.end());  // the order of a hash table is nobody's business
  for (auto const id : unwanted) {
    slot const c = closures.find(id);
    do_not_repeat(*s, id);
    if (ended(closures[c].state))
      forget_held(c);
    else
      closures[c].released = true;
  }
  release_per_worker(*s, e.per_worker);
  resume_reply r{s->generation, 0, {}};
  if (s->stopping && s->first_error) {
    r.failed_generation = s->generation;
    r.failure = *s->first_error;
  } else if (s->raised) {
    r.failed_generation = s->raised_generation;
    r.failure = *s->raised;
  }
  answer(e.call, {}, std::move(r));
}

join_reply coordinator::state::collect(session& s) {
  join_reply j{s.idle(), s.state, false, {}, s.generation};
  if (!s.spec.by_call || !s.raised) return j;
  j.has_error = true;
  j.error = std::move(*s.raised);
  s.raised.reset();
  return j;
}

void coordinator::state::park_join(session& s, join_session const& e) {
  if (s.spec.by_call) renew_lease(s, now);
  if (!s.stopping && (e.mode == join_mode::settle || s.idle() || (s.spec.by_call && s.raised)))
    return answer(e.call, {}, collect(s));
  if (e.deadline <= now)
    return answer(e.call, {code::deadline_exceeded, text(s.id) + " is still running"}, joined(s));
  if (waiters.size() >= config.parked_calls_max)
    return answer(e.call, {code::resource_exhausted,
                           std::to_string(waiters.size()) + " calls are waiting, the limit"});
  if (s.spec.by_call) renew_lease(s, e.deadline);
  waiters.park(e.call, {e.session, {}, e.deadline, e.mode});
  s.joins.push_back(e.call);
}

// In the order in which they came, so the first of them gets the error.
void coordinator::state::answer_drained(session& s) {
  std::vector<call_id> watching;
  for (auto const call : std::exchange(s.joins, {})) {
    if (waiters.at(call).mode == join_mode::watch) {
      watching.push_back(call);
      continue;
    }
    waiters.remove(call);
    answer(call, {}, collect(s));
  }
  s.joins = std::move(watching);
}

}  // namespace muster::core
