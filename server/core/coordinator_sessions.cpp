// Sessions and jobs: what may be queued, what an error or a cancel does, when a job has ended and
// when it is forgotten.
#include <algorithm>

#include "base/check.hpp"
#include "server/core/coordinator_state.hpp"

namespace muster::core {

session* coordinator::state::find_session(session_id id) {
  auto const it = sessions.find(id);
  return it == sessions.end() ? nullptr : it->second.get();
}

status coordinator::state::valid(std::vector<closure_spec> const& specs,
                                 session_spec const& session) const {
  auto const at = [](std::size_t i) { return "closures[" + std::to_string(i) + "].function: "; };
  bool plain = true;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (!functions.knows(specs[i].function))
      return {code::invalid_argument, at(i) + "unknown number"};
    if (session.require_function && functions[specs[i].function].workers == 0)
      return {code::failed_precondition,
              at(i) + "no connected worker has '" + functions[specs[i].function].name + "'"};
    if (!specs[i].extras) continue;
    plain = false;
    auto const extras = valid_extras(specs[i], "closures[" + std::to_string(i) + "].", i,
                                     session.hold_values && !session.by_call);
    if (!extras.ok()) return extras;
  }
  return plain ? status{} : valid_gangs(specs);
}

status coordinator::state::room_for(session const& s, std::size_t n) const {
  if (n > s.capacity)
    return {code::resource_exhausted, std::to_string(n) +
                                          " closures at once, the queue of a job holds " +
                                          std::to_string(s.capacity) + ": append them in parts"};
  if (s.waiting() + n > s.capacity)
    return {code::resource_exhausted, text(s.id) + " has " + std::to_string(s.waiting()) +
                                          " queued closures, its limit is " +
                                          std::to_string(s.capacity)};
  if (closures.size() + n > config.closures_max)
    return {code::resource_exhausted, "the server holds " + std::to_string(closures.size()) +
                                          " closures, its limit is " +
                                          std::to_string(config.closures_max)};
  if ((s.spec.keep_values || s.spec.hold_values) && value_bytes > config.value_bytes_max)
    return {code::resource_exhausted, "results of unfinished jobs take " +
                                          std::to_string(value_bytes) + " bytes, the limit is " +
                                          std::to_string(config.value_bytes_max)};
  return {};
}

void coordinator::state::open(open_session& e) {
  if (refuse_when_stopping(e.call)) return;
  auto& spec = e.spec;
  if (!spec.idempotency_key.empty())
    if (auto const it = by_key.find(spec.idempotency_key); it != by_key.end()) {
      session_reply again{it->second, false, {}};
      for (slot const c : sessions.at(it->second)->closures)
        again.closures.push_back(closures.id_of(c));
      return answer(e.call, {}, std::move(again));
    }
  if (auto bad = valid(e.closures, spec); !bad.ok()) return answer(e.call, std::move(bad));
  if (auto bad = valid(spec); !bad.ok()) return answer(e.call, std::move(bad));
  if (auto full = room_for_needs(nullptr, e.closures); !full.ok())
    return answer(e.call, std::move(full));

  auto owned = std::make_unique<session>();
  auto& s = *owned;
  s.id = session_id{last_session + 1};
  s.capacity = spec.queue_capacity == 0 ? config.queue_capacity : spec.queue_capacity;
  s.max_worker_failures = spec.unlimited_worker_failures ? 0
                          : spec.max_worker_failures     ? spec.max_worker_failures
                                                         : config.max_worker_failures;
  s.spec = std::move(spec);
  s.sealed = !s.spec.open;
  s.created = now;
  s.turns_left = s.spec.weight;
  if (auto full = room_for(s, e.closures.size()); !full.ok())
    return answer(e.call, std::move(full));
  if (sessions.size() >= config.sessions_max && !forget_oldest_job(release_reason::jobs))
    return answer(e.call,
                  {code::resource_exhausted, "the server has " + std::to_string(sessions.size()) +
                                                 " unfinished jobs, its limit"});
  ++last_session;
  sessions.emplace(s.id, std::move(owned));
  ++(s.spec.keep_values ? jobs[static_cast<int>(job_state::running)] : streaming_sessions);
  s.attached = s.spec.hold_values && !s.spec.by_call;
  if (s.spec.by_call) renew_lease(s, now);
  if (!s.spec.idempotency_key.empty()) by_key.emplace(s.spec.idempotency_key, s.id);
  if (s.spec.deadline > duration{}) {
    s.deadline = now + s.spec.deadline;
    alarms.set(s.deadline, alarm_kind::job_deadline, raw(s.id));
  }

  session_reply opened{s.id, true, {}};
  opened.closures.reserve(e.closures.size());
  schedule_closures(s, e.closures, s.spec.keep_values ? &opened.closures : nullptr);
  answer(e.call, {}, std::move(opened));
  settle_later(s);
}

void coordinator::state::schedule_closures(session& s, std::vector<closure_spec>& specs,
                                           std::vector<closure_id>* ids) {
  std::vector<slot> request;  // only kept while somebody may refer to it
  std::vector<std::pair<closure_id, std::string>> doomed;
  bool const extras =
      std::any_of(specs.begin(), specs.end(), [](auto const& spec) { return spec.extras; });
  if (extras) form_gangs(s, specs);
  for (auto& spec : specs) {
    if (s.spec.hold_values && repeat(s, spec.token)) {
      auto const known = s.by_token.at(spec.token);
      if (ids) ids->push_back(known);
      if (extras) request.push_back(closures.find(known));
      continue;
    }
    slot const c = create(s, spec);
    if (ids) ids->push_back(closures.id_of(c));
    if (extras) request.push_back(c);
    if (!spec.extras) continue;
    if (auto why = equip(s, c, std::move(spec.extras), request); !why.empty())
      doomed.emplace_back(closures.id_of(c), std::move(why));
  }
  gangs.forming.clear();
  // Last, because a failure may stop the session.
  for (auto& [id, why] : doomed)
    if (slot const c = closures.find(id);
        c != no_slot && closures[c].state == closure_state::blocked)
      fail(c, closure_state::failed, {failure_kind::input, "", std::move(why), "", "", 0});
  if (!s.full && !s.spec.keep_values &&
      (s.waiting() >= s.capacity ||
       (closures.size() >= config.closures_max && !s.spec.hold_values)))
    hold_back(s);
}

status coordinator::state::appendable(session const& s, core::schedule const& e) const {
  auto const& specs = e.closures;
  if (stopping) return {code::unavailable, "the server is shutting down"};
  if (auto bad = valid(specs, s.spec); !bad.ok()) return bad;
  if (auto full = room_for_needs(&s, specs); !full.ok()) return full;
  if (!s.spec.keep_values) {
    if (e.generation != 0 && e.generation != s.generation)
      return {code::failed_precondition, "scheduled before the end of generation " +
                                             std::to_string(e.generation) + " was seen"};
    if (!s.stopping && !s.closed) {
      bool const ask = s.holding() && e.call != call_id{};
      return ask ? room_for(s, specs.size()) : status{};
    }
    return {code::failed_precondition, "the session is stopping after an error or a cancel"};
  }
  if (s.terminal() || s.stopping)
    return {code::failed_precondition, text(s.id) + " has ended: it takes no more closures"};
  if (s.sealed)
    return {code::failed_precondition, text(s.id) + " is sealed: it takes no more closures"};
  return room_for(s, specs.size());
}

void coordinator::state::append(core::schedule& e) {
  auto* s = find_session(e.session);
  if (!s) {
    if (!refuse_when_stopping(e.call)) answer(e.call, unknown_session(e.session));
    return;
  }
  bool const streaming = !s->spec.keep_values;
  if (s->spec.by_call) renew_lease(*s, now);
  if (auto wrong = appendable(*s, e); !wrong.ok()) {
    if (!streaming || e.call != call_id{}) return answer(e.call, std::move(wrong));
    if (s->holding() && wrong.code != code::failed_precondition && wrong.code != code::unavailable)
      return fail_all(*s, e.closures, failure_kind::input, wrong.message);
    for (auto const& spec : e.closures)
      if (!s->holding() || !repeat(*s, spec.token))
        fx.outcomes.push_back({s->id,
                               spec.token,
                               false,
                               {},
                               {failure_kind::cancelled, "", wrong.message, "", "", 0},
                               {}});
    return;
  }
  if (s->holding() && e.call == call_id{})
    if (auto const why = no_place_to_hold(*s, e.closures.size()); !why.empty())
      return fail_all(*s, e.closures, failure_kind::cancelled, why);
  session_reply appended{s->id, false, {}};
  bool const ids = !streaming || (s->holding() && e.call != call_id{});
  schedule_closures(*s, e.closures, ids ? &appended.closures : nullptr);
  answer(e.call, {}, std::move(appended));
}

// Queued closures end at once; running ones are asked and answer in their own time, so when the
// session has drained nothing of it executes any more.
void coordinator::state::stop_session(session& s, std::string_view why) {
  s.stopping = true;
  for (auto& l : s.lanes)
    while (l.queue.size > 0) cancel(l.queue.front, why);
  while (s.apart.size > 0) cancel(s.apart.front, why);
  if (s.counts.running > 0)
    for (auto const& [id, w] : workers)
      for (slot c = w->holds.front; c != no_slot; c = closures[c].next)
        if (closures[c].owner == &s) ask_to_stop(c);
  std::sort(fx.stop_requests.begin(), fx.stop_requests.end(),
            [](auto const& a, auto const& b) { return raw(a.stream) < raw(b.stream); });
  settle_later(s);
}

void coordinator::state::settle_later(session& s) {
  if (s.unsettled || !s.idle() || !(s.sealed || s.stopping || s.closed || !s.joins.empty())) return;
  s.unsettled = true;
  unsettled.push_back(s.id);
}

void coordinator::state::settle(session& s) {
  if (!s.idle() || s.terminal()) return;
  if (s.closed) return release_session(s, release_reason::session_end);
  if (s.spec.keep_values) {
    if (s.sealed || s.stopping) finish_job(s);
    return;
  }
  if (s.stopping || s.sealed) fx.notices.push_back({s.id, notice_kind::drained, s.generation, {}});
  if (s.stopping) {  // the next generation starts clean
    s.stopping = false;
    if (s.holding() && s.first_error) {
      s.raised = std::move(s.first_error);
      s.raised_generation = s.generation;
    }
    s.first_error.reset();
    ++s.generation;
  }
  answer_drained(s);
}

void coordinator::state::finish_job(session& s) {
  s.state = s.user_cancelled         ? job_state::cancelled
            : s.first_error          ? job_state::failed
            : s.counts.cancelled > 0 ? job_state::cancelled
                                     : job_state::succeeded;
  s.finished = now;
  s.stopping = false;
  s.sealed = true;
  if (s.deadline != never) alarms.clear(s.deadline, alarm_kind::job_deadline, raw(s.id));
  --jobs[static_cast<int>(job_state::running)];
  ++jobs[static_cast<int>(s.state)];
  for (auto const call : s.joins) {
    waiters.remove(call);
    answer(call, {}, joined(s));
  }
  s.joins.clear();
  placement.forget(s);
  finished_jobs.push_back(s.id);
  ++finished_count;
  set_age_alarm(s, now);
}

void coordinator::state::release_session(session& s, release_reason why) {
  check(s.idle(), "a session is forgotten when nothing of it is left");
  for (auto const call : s.joins) {  // of a stream: a job has answered them when it ended
    waiters.remove(call);
    answer(call, unknown_session(s.id));
  }
  for (slot const c : s.closures) {
    let_value_go(c);
    forget(c, why);
  }
  while (s.held.size > 0) forget_held(s.held.front, why);
  if (s.age_alarm != never) alarms.clear(s.age_alarm, alarm_kind::value_age, raw(s.id));
  remember_session(s.id, why);
  if (s.lease_alarm != never) alarms.clear(s.lease_alarm, alarm_kind::session_lease, raw(s.id));
  if (s.deadline != never) alarms.clear(s.deadline, alarm_kind::job_deadline, raw(s.id));
  placement.forget(s);
  release_requirements(s);
  release_per_worker(s);
  if (s.full) end_hold(s);
  if (!s.spec.idempotency_key.empty()) by_key.erase(s.spec.idempotency_key);
  if (!s.spec.keep_values) --streaming_sessions;
  if (s.terminal()) --finished_count;
  fx.released.push_back(s.id);
  sessions.erase(s.id);
}

void coordinator::state::hold_back(session& s) {
  s.full = true;
  if (sessions_held_back++ == 0) metrics.full_since = now;
}

void coordinator::state::end_hold(session& s) {
  s.full = false;
  if (--sessions_held_back > 0) return;
  metrics.full += now - metrics.full_since;
  metrics.full_since = never;
}

// With some slack, so that a stream is not stopped and started for every closure.
void coordinator::state::relieve(session& s) {
  if (s.waiting() > s.capacity - s.capacity / 4) return;
  if (s.waiting() >= s.capacity) return;
  if (closures.size() >= config.closures_max && !s.spec.hold_values) return;
  end_hold(s);
  fx.notices.push_back({s.id, notice_kind::room});
}

void coordinator::state::relieve_all() {
  auto const slack = std::max<std::size_t>(config.closures_max / 8, 1);
  if (closures.size() != config.closures_max - slack) return;
  for (auto const& [id, s] : sessions)
    if (s->full) relieve(*s);
}

}  // namespace muster::core
