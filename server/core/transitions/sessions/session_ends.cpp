#include "server/core/transitions/sessions/session_ends.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace muster::core {

namespace {

job_state state_of_ended(session const& s, closure_counts const& counts) {
  return s.user_cancelled || (!s.first_error && counts.cancelled > 0) ? job_state::cancelled
         : s.first_error                                              ? job_state::failed
                                                                      : job_state::succeeded;
}

}  // namespace

void session_ends::on_lease_expired(session& s) {
  s.lease_alarm = never;
  if (s.attached || s.closed) return;
  if (s.lease_until > core_.step.now) return flow_.set_lease_alarm(s);
  if (s.spec.detached && !flow_.idle(s)) return flow_.renew_lease(s, core_.step.now);
  s.closed = true;
  life_.stop_session(s, "its client did not reconnect in time");
}

join_reply session_ends::collect(session& s) {
  join_reply j{flow_.idle(s), s.state, false, {}, s.generation};
  if (!s.traits().unary || !s.raised) return j;
  j.has_error = true;
  j.error = std::move(*s.raised);
  s.raised.reset();
  core_.sessions.report_change(s);
  return j;
}

// Answers joins in order of arrival, so that the first join receives the error. Without an error, a
// `drain` join keeps waiting for closures that the session's error has not stopped.
void session_ends::answer_drained(session& s) {
  bool const idle = flow_.idle(s);
  std::vector<call_id> waiting;
  for (auto const call : std::exchange(s.joins, {})) {
    auto const mode = core_.step.waiters.at(call).mode;
    if (mode == join_mode::watch || (mode == join_mode::drain && !idle && !s.raised)) {
      waiting.push_back(call);
      continue;
    }
    core_.step.waiters.remove(call);
    core_.step.answer(call, {}, collect(s));
  }
  s.joins = std::move(waiting);
}

void session_ends::expire_session(session& s) {
  s.deadline = never;
  if (s.terminal() || s.stopping) return;
  auto const limit = std::chrono::duration_cast<std::chrono::milliseconds>(s.spec.deadline);
  life_.fail_session(s,
                     {failure_kind::timeout, "",
                      "the deadline of " + std::to_string(limit.count()) + " ms passed with " +
                          std::to_string(flow_.of(s).counts.queued + flow_.of(s).counts.blocked) +
                          (flow_.of(s).counts.queued + flow_.of(s).counts.blocked == 1
                               ? " closure waiting and "
                               : " closures waiting and ") +
                          std::to_string(flow_.of(s).counts.running) + " running",
                      "", "", 0},
                     "the deadline of " + text(s.id) + " passed");
}

join_reply session_ends::joined(session const& s) const {
  join_reply j{s.terminal(),
               s.state,
               s.first_error.has_value(),
               {},
               !s.traits().generations ? 0 : s.generation};
  if (s.first_error) j.error = *s.first_error;
  return j;
}

void session_ends::on_age_limit(session_id id) {
  auto& s = *core_.sessions.find(id);
  s.age_alarm = never;
  if (s.has_ended()) {
    core_.sessions.forget_finished(s);
    return release_session(s, release_reason::session_end);
  }
  if (s.terminal()) {
    core_.sessions.forget_finished(s);
    return release_session(s, release_reason::age);
  }
  auto const oldest = [&] { return core_.values.oldest_of(s.number); };
  for (auto v = oldest(); v != closure_id{}; v = oldest()) {
    slot const c = core_.closures.find(v);
    if (core_.closures[c].finished + core_.step.config.value_age > core_.step.now)
      return flow_.set_age_alarm(s, core_.closures[c].finished);
    core_.values.pop_oldest_of(s.number);
    keeping_.drop_value(c, release_reason::age);
  }
}

void session_ends::settle(session& s) {
  bool const idle = flow_.idle(s);
  bool const next = s.stopping && !s.closed && !s.sealed && flow_.drained(s);
  if (s.terminal() || (!idle && !next)) return;
  if (s.closed) return end_session(s);
  if (!s.traits().generations) {
    if (s.sealed || s.stopping) finish_job(s);
    return;
  }
  if (s.stopping || s.sealed)
    core_.step.fx.notices.push_back({s.id, notice_kind::drained, s.generation, {}});
  if (s.stopping) {
    s.stopping = false;
    if (s.traits().resumable && s.first_error) {
      s.raised = std::move(s.first_error);
      s.raised_generation = s.generation;
    }
    s.first_error.reset();
    s.stopped_because.clear();
    if (idle) core_.stateful.forget(s.number);
    ++s.generation;
    core_.sessions.report_change(s);
  }
  answer_drained(s);
}

void session_ends::finish_job(session& s) {
  s.state = state_of_ended(s, flow_.of(s).counts);
  if (s.state == job_state::failed) flow_.report_failed(s);
  s.finished = core_.step.now;
  s.stopping = false;
  s.stopped_because.clear();
  s.sealed = true;
  if (s.deadline != never) core_.step.alarms.clear(s.deadline, alarm_kind::job_deadline, raw(s.id));
  for (auto const call : s.joins) {
    core_.step.waiters.remove(call);
    core_.step.answer(call, {}, joined(s));
  }
  s.joins.clear();
  core_.scheduler.end_turns(s.number);
  core_.sessions.report_change(s);
  core_.sessions.finished(s);
  flow_.set_age_alarm(s, core_.step.now);
}

// Like a job, a session has failed if one of its closures failed, even if the client handled the
// failure.
void session_ends::end_session(session& s) {
  auto const& counts = flow_.of(s).counts;
  if (!core_.step.config.keeps_ended_sessions() || counts.total() == 0)
    return release_session(s, release_reason::session_end);
  release_contents(s, release_reason::session_end);
  if (!s.first_error && counts.failed > 0) s.first_error = std::move(s.raised);
  s.raised.reset();
  s.state = counts.failed > 0 ? job_state::failed : state_of_ended(s, counts);
  s.finished = core_.step.now;
  s.stopping = s.attached = false;
  s.sealed = true;
  core_.sessions.report_change(s);
  s.lease_until = never;
  core_.scheduler.end_turns(s.number);
  core_.sessions.finished(s);
  s.age_alarm = core_.step.now + core_.step.config.ended_session_age;
  core_.step.alarms.set(s.age_alarm, alarm_kind::value_age, raw(s.id));
}

void session_ends::release_session(session& s, release_reason why) {
  auto const values = flow_.of(s).counts.succeeded;
  release_contents(s, why);
  core_.step.fx.released.push_back(s.id);
  core_.scheduler.close(s.number);
  core_.values.close(s.number);
  core_.book.close(s.number);
  core_.sessions.erase(s, why, core_.step.now, values);
}

void session_ends::release_contents(session& s, release_reason why) {
  check(flow_.idle(s), "a session must be idle when it is removed");
  // Answers the joins of a stream; a job's joins were answered when the job finished.
  for (auto const call : std::exchange(s.joins, {})) {
    core_.step.waiters.remove(call);
    core_.step.answer(call, texts_.unknown_session(s.id));
  }
  // One entry covers all records of the session.
  if (std::exchange(s.durable, false)) core_.step.fx.changes.let_go.push_back(s.id);
  for (slot const c : flow_.of(s).closures) {
    core_.values.let_go(c);
    life_.forget_with_session(c, why);
  }
  while (s.held.size > 0) life_.forget_held(s.held.front, why);
  clear(s.age_alarm, alarm_kind::value_age, s);
  clear(s.lease_alarm, alarm_kind::session_lease, s);
  clear(s.deadline, alarm_kind::job_deadline, s);
  core_.scheduler.clear_queues(s.number);
  building_.release_per_worker(s);
  if (s.full) core_.sessions.hold_back(s, false);
  core_.failures.forget(s.number);
  core_.stateful.forget(s.number);
}

void session_ends::clear(time_point& alarm, alarm_kind kind, session const& s) {
  if (alarm != never) core_.step.alarms.clear(std::exchange(alarm, never), kind, raw(s.id));
}

}  // namespace muster::core
