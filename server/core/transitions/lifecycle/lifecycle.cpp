#include "server/core/transitions/lifecycle/lifecycle.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "server/core/texts/attempt_texts.hpp"
#include "server/core/texts/reason_texts.hpp"

namespace muster::core {

namespace {
time_point ready_at(closure_record const& r) {
  return r.details && r.details->ready_at != time_point{} ? r.details->ready_at : r.created;
}
}  // namespace

// Functions that run for every closure are inline, because calls have a measurable cost.
[[gnu::always_inline]] inline void lifecycle::give(worker_slots& w, slot c, closure_record& r) {
  bool const runs = core_.scheduler.hold(w, c);
  core_.book.send(c, w.number, runs, core_.step.now);
  if (runs) core_.step.fx.changes.waits.queue.push_back(core_.step.now - ready_at(r));
  if (w.by_name_only) core_.stateful.use(r.owner, {w.job, w.index});
  core_.places.release(r.place);
  r.place = core_.registry.of(w.number).place;
  core_.places.hold(r.place);
  auto& s = core_.sessions.of(r.owner);
  if (!s.started) core_.sessions.note_start(s);
  if (s.full) flow_.resume_if_room(s);
  core_.scheduler.reserve(w, c);
}

void lifecycle::adopt_held(worker_slots& w, slot c, std::uint32_t attempt) {
  auto& r = core_.closures[c];
  if (r.is(closure_phase::delayed)) {
    core_.step.alarms.clear(r.details->start_at, alarm_kind::start, raw(core_.closures.id_of(c)));
    core_.scheduler.end_deferral(c);
    core_.book.end_deferral(c);
    r.details->ready_at = core_.step.now;
  } else {
    core_.scheduler.unqueue(c);
  }
  // If the worker holds other closures, they were sent while the isolated closure waited for a
  // value.
  if (r.exclusive && w.held() > 0) stop_being_exclusive(c);
  if (r.exclusive) core_.scheduler.run_exclusively_on(w);
  r.attempt = attempt - 1;
  give(w, c, r);
  core_.book.report_move(c, move_reason::dispatched);
}

// A rebuild reports the same number of workers as the lost closure did.
std::uint32_t lifecycle::declared_for_lost(closure_record const& r) const {
  slot const lost = core_.closures.find(closure_id{r.token});
  return lost == no_slot ? 0 : core_.sessions.of(core_.closures[lost].owner).spec.num_workers;
}

void lifecycle::assign(worker_slots& w, slot c) {
  auto& r = core_.closures[c];
  give(w, c, r);
  auto& a = core_.step.fx.assignments.emplace_back();
  a.closure = core_.closures.id_of(c);
  a.attempt = r.attempt;
  a.function = core_.book.functions.served(r.function);
  a.args = r.args;
  if (!w.by_name_only) {
    auto const& s = core_.sessions.of(r.owner);
    a.num_workers = s.delivery() == delivery::rebuild ? declared_for_lost(r) : s.spec.num_workers;
  }
  if (r.details && r.details->extras) {
    a.inputs = r.details->inputs;
    if (r.details->inputs || !r.details->extras->per_worker.empty()) a.extras = r.details->extras;
  }
}

void lifecycle::start(worker_slots& w, slot c, time_point at, bool reported) {
  core_.scheduler.start(w, c, reported);
  auto const since = began(c, at);
  core_.book.start(c, since);
}

time_point lifecycle::began(slot c, time_point at) {
  auto& r = core_.closures[c];
  r.started = std::max(at, ready_at(r));
  core_.step.fx.changes.waits.queue.push_back(r.started - ready_at(r));
  return r.started;
}

void lifecycle::stop(slot c) {
  core_.book.stop(c);
}

void lifecycle::yield_slot_of(worker_slots& w, slot c) {
  auto& r = core_.closures[c];
  if (r.waits) return;
  if (r.sent()) start(w, c, core_.step.now, true);
  r.reported = true;
  if (r.exclusive) stop_being_exclusive(c);
  core_.scheduler.yield_slot(w, c);
}

void lifecycle::start_waiting(worker_slots& w) {
  while (w.running.size < w.slots && w.prefetched.size > 0)
    start(w, w.prefetched.front, core_.step.now, false);
}

void lifecycle::remember_attempt(slot c, attempt_outcome outcome) {
  auto& r = core_.closures[c];
  auto& lost = r.with_details().lost;
  if (lost.size() >= 16) {
    core_.places.release(lost.front().place);
    lost.erase(lost.begin());
  }
  core_.places.hold(r.place);
  lost.push_back({r.attempt, r.place, r.started, core_.step.now, std::move(outcome)});
}

void lifecycle::requeue(worker& w, slot c, bool suspect, attempt_outcome const& why, duration pause,
                        bool process_ended) {
  auto& r = core_.closures[c];
  auto& s = core_.sessions.of(r.owner);
  bool const lost = why.how == attempt_end::worker_lost;
  if ((lost || why.how == attempt_end::not_there) && !r.sent())
    core_.book.report_attempt(c, why.how, r.started, core_.step.now);
  bool const retracted = why.how == attempt_end::retracted;
  r.restored = false;
  auto const cause =
      retracted ? closure_book::requeue_cause::retract : closure_book::requeue_cause::loss;
  if (s.delivery() == delivery::build) return lose_build(w, c, suspect, cause);
  if (!retracted) remember_attempt(c, why);
  if (suspect && r.worker_failures < worker_failures_max) ++r.worker_failures;
  if (suspect) r.details->lost.back().blamed = process_ended ? blame::process : blame::worker;
  // A worker counts as lost if it could not reach the server when the closure needed the server.
  if (suspect && (lost || why.how == attempt_end::dependency_lost)) count_loss(c, process_ended);

  if (r.timed_out) return expire(c);
  if (r.stop_requested)
    return cancel(c, lost ? "cancelled; its worker was lost before it answered"
                          : "cancelled instead of running again: " + text(why));
  auto const losses = counted_losses(s, r);
  if (suspect && s.max_worker_failures > 0 && losses >= s.max_worker_failures) {
    core_.book.count_aborted();
    return fail(c, closure_state::failed,
                {failure_kind::worker_lost, "", text_of_losses(s, r, losses), "", w.task->name(),
                 r.attempt});
  }
  if (suspect && lost) {
    // Closures that shared a worker with the culprit are also suspected. Each closure therefore
    // makes its last attempt in isolation.
    bool const shared = !process_ended && core_.scheduler.of(w.number).slots > 1;
    auto const limit = s.ignores_lost_workers && !r.own_error ? 0 : s.max_worker_failures;
    run_alone_after(c, shared && limit > 1 ? std::min(limit - 1, exclusive_after) : exclusive_after,
                    w.task->name());
    pause = std::max(pause, pause_after_loss(r.details->workers_lost));
  }
  core_.scheduler.let_go(core_.scheduler.of(w.number), c);
  core_.book.requeue(c, cause);
  if (pause == duration{}) {
    if (!retracted) r.details->ready_at = core_.step.now;
    check_later(c);
    return r.exclusive ? wait_for_others(c) : core_.scheduler.push_front(c);
  }
  r.details->start_at = core_.step.now + pause;
  enqueue(c);
}

void lifecycle::succeed(slot c, blob&& value) {
  core_.closures[c].value = std::move(value);
  finish(c, closure_state::succeeded);
}

void lifecycle::fail(slot c, closure_state as, core::failure f) {
  auto& r = core_.closures[c];
  auto& s = core_.sessions.of(r.owner);
  bool const first = as == closure_state::failed && !s.first_error && !r.own_error;
  if (first) {
    s.first_error = f;
    core_.sessions.report_change(s);
  }
  r.with_details().failure = std::move(f);
  auto const id = core_.closures.id_of(c);
  auto const function = r.function;
  finish(c, as);
  if (first && s.spec.on_error == on_error::fail_fast && !s.stopping)
    fail_session(s, *s.first_error,
                 cancelled_because_of(id, core_.book.functions[function].name, *s.first_error));
}

void lifecycle::fail_session(session& s, core::failure f, std::string_view why, bool all_fail) {
  s.first_error = std::move(f);
  s.stopped_because = why;
  if (s.traits().generations) {
    core_.step.fx.notices.push_back({s.id, notice_kind::failed, s.generation, *s.first_error});
    flow_.report_failed(s);
  }
  auto const error = *s.first_error;  // a copy, because stopping can move the error
  stop_session(s, why, stops::but_own_errors, all_fail ? &error : nullptr);
}

void lifecycle::lose_state(stateful_tasks::task_key const& t, std::string const& why) {
  auto const users = core_.stateful.take_users(t);
  if (auto const number = core_.stateful.number_of(t))
    if (auto const at = core_.stateful.lose(t); at != never)
      core_.step.alarms.clear(at, alarm_kind::state_lost, number);
  auto const name = t.first + ":" + std::to_string(t.second);
  std::size_t ended = 0;
  for (auto const n : users) ended += lose_state_of(core_.sessions.of(n), t, why);
  if (ended > 0) core_.step.report_incident(incidents::state_lost{name, why, ended});
}

bool lifecycle::lose_state_of(session& s, stateful_tasks::task_key const& t,
                              std::string const& why) {
  bool const internal = s.id == session_id{};
  if (internal || s.terminal() || s.closed) return false;
  auto const name = t.first + ":" + std::to_string(t.second);
  auto const lost = name + " was lost together with its state: " + why;
  core::failure error{failure_kind::dependency_lost, "", "UNAVAILABLE: " + lost, "", "", 0, {name}};
  bool const first = !s.stopping;
  if (first) fail_session(s, error, lost, true);
  if (flow_.of(s).own_errors > 0 && core_.stateful.holds_state(t.first)) fail_bound(s, t, error);
  return first;
}

// A closure with own_error continues when its session fails, unless it can run only on the lost
// task.
void lifecycle::fail_bound(session& s, stateful_tasks::task_key const& t,
                           core::failure const& why) {
  std::vector<slot> bound;
  auto const& q = core_.scheduler.queue(s.number);
  auto const note = [&](slot_list const& list) {
    for (slot c = list.front; c != no_slot; c = core_.closures[c].next) {
      auto const& r = core_.closures[c];
      if (r.owner != s.number || !r.own_error) continue;
      auto const number = core_.scheduler.queue_of(c).requirement;
      if (number == 0) continue;
      auto const& needs = core_.scheduler.required(number);
      if (needs.job == t.first && needs.index == t.second) bound.push_back(c);
    }
  };
  for (auto const& l : q.queues) note(l.queue);
  note(q.deferred);
  if (auto const* row = core_.registry.tasks.find(t.first, t.second); row && row->worker)
    if (row->worker->away) note(core_.scheduler.of(row->worker->number).running);
  for (slot const c : bound) fail(c, closure_state::failed, why);
}

void lifecycle::cancel(slot c, std::string_view why) {
  fail(c, closure_state::cancelled,
       {failure_kind::cancelled, "", std::string(why), "", "", core_.closures[c].attempt});
}

void lifecycle::ask_to_stop(slot c) {
  auto& r = core_.closures[c];
  if (r.stop_requested) return;
  r.stop_requested = true;
  // The closures of a worker that is being lost are requeued anyway. A disconnected worker is asked
  // when it reconnects.
  auto const& w = core_.registry.of(r.worker);
  if (!core_.scheduler.of(w.number).placed || w.away) return;
  core_.step.fx.stop_requests.push_back({w.stream, core_.closures.id_of(c), r.attempt});
}

// A closure that a worker holds finishes only when the worker answers, so that no closure still
// executes when the session has drained.
void lifecycle::stop_session(session& s, std::string_view why, stops which,
                             core::failure const* with) {
  bool const spares = which == stops::but_own_errors && flow_.of(s).own_errors > 0;
  auto const stays = [&](slot c) { return spares && core_.closures[c].own_error; };
  auto const end_all = [&](slot_list const& queue) {
    for (slot c = queue.front; c != no_slot;) {
      slot const next = core_.closures[c].next;
      if (!stays(c)) with ? fail(c, closure_state::failed, *with) : cancel(c, why);
      c = next;
    }
  };
  s.stopping = true;
  core_.sessions.report_change(s);
  auto const& q = core_.scheduler.queue(s.number);
  for (auto const& l : q.queues) end_all(l.queue);
  end_all(q.deferred);
  if (flow_.of(s).held() > 0)
    for (auto const& [stream, w] : core_.scheduler.all_workers())
      for (auto const* held : {&w->running, &w->prefetched})
        for (slot c = held->front; c != no_slot; c = core_.closures[c].next)
          if (core_.closures[c].owner == s.number && !stays(c)) ask_to_stop(c);
  std::sort(core_.step.fx.stop_requests.begin(), core_.step.fx.stop_requests.end(),
            [](auto const& a, auto const& b) { return raw(a.stream) < raw(b.stream); });
  flow_.settle_later(s);
}

}  // namespace muster::core
