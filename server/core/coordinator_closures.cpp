// The life of one closure:
//
//   create ──► QUEUED ──assign──► RUNNING ──succeed──► SUCCEEDED
//                ▲                   │ ├────fail─────► FAILED
//                └──put_back (head)──┘ └────cancel───► CANCELLED
//
// A closure with inputs begins BLOCKED; see coordinator_options.cpp.
//
// Counts change only here, in finish/assign/put_back, so they cannot drift from the states.
#include "base/check.hpp"
#include "server/core/coordinator_state.hpp"

namespace muster::core {

slot coordinator::state::create(session& s, closure_spec& spec) {
  slot const c = closures.allocate(s);
  auto& r = closures[c];
  r.args = std::move(spec.args);
  r.token = spec.token;
  r.created = now;
  r.order = s.scheduled++;
  r.lane = lane_of(s, spec);
  r.state = closure_state::queued;
  if (s.spec.keep_values) s.closures.push_back(c);
  if (s.spec.hold_values && r.token != 0) s.by_token.emplace(r.token, closures.id_of(c));
  ++s.counts.queued;
  ++counts.queued;
  if (!spec.extras) {
    ++functions[spec.function].queued;
    placement.push_back(s, c);
  }
  return c;
}

void coordinator::state::assign(worker& w, slot c) {
  auto& r = closures[c];
  auto& s = *r.owner;
  auto& f = functions[s.lanes[r.lane].function];
  check(r.state == closure_state::queued, "only a queued closure is dispatched");
  r.state = closure_state::running;
  r.worker = &w;
  r.started = now;
  bool const again = r.details && r.details->ready_at != time_point{};
  metrics.queue_wait.add(now - (again ? r.details->ready_at : r.created));
  ++r.attempt;
  places.release(r.place);
  r.place = w.place;
  places.hold(r.place);
  closures.push_back(w.holds, c);
  --s.counts.queued, ++s.counts.running;
  --counts.queued, ++counts.running;
  --f.queued, ++f.running;
  if (s.full) relieve(s);
  fx.assignments.push_back({closures.id_of(c), r.attempt, s.lanes[r.lane].function, r.args});
  if (r.details && r.details->extras) {
    fx.assignments.back().inputs = r.details->inputs;
    if (r.details->inputs || !r.details->extras->per_worker.empty())
      fx.assignments.back().extras = r.details->extras;
  }
  reserve(w, c);
}

void coordinator::state::remember_attempt(slot c, std::string outcome) {
  auto& r = closures[c];
  auto& lost = r.rare().lost;
  if (lost.size() >= 16) {  // the newest sixteen tell the story
    places.release(lost.front().place);
    lost.erase(lost.begin());
  }
  places.hold(r.place);
  lost.push_back({r.attempt, r.place, r.started, now, std::move(outcome)});
}

void coordinator::state::put_back_closure(worker& w, slot c, bool suspect,
                                          std::string const& outcome, duration pause) {
  auto& r = closures[c];
  auto& s = *r.owner;
  if (&s == &builders) return lose_build(w, c, suspect, outcome);
  remember_attempt(c, outcome);
  if (suspect && r.worker_failures < worker_failures_max) ++r.worker_failures;

  if (r.timed_out) return expire(c);
  if (r.stop_requested) {
    cancel(c, outcome.starts_with("worker lost: ")
                  ? "cancelled; its worker was lost before it answered"
                  : "cancelled instead of run again: " + outcome);
    return;
  }
  if (s.max_worker_failures > 0 && r.worker_failures >= s.max_worker_failures) {
    constexpr std::string_view lost = "worker lost: ";
    bool const was_lost = outcome.starts_with(lost);
    auto const why = was_lost ? outcome.substr(lost.size()) : outcome;
    ++aborted;
    fail(c, closure_state::failed,
         {failure_kind::worker_lost, "",
          "quarantined: " + std::to_string(r.worker_failures) +
              (was_lost ? " workers were lost while they ran it, the last was "
                        : " workers were lost or could not run it, the last was ") +
              w.task->name() + " (" + why + ")",
          "", w.task->name(), r.attempt});
    return;
  }
  auto& f = functions[s.lanes[r.lane].function];
  let_go(w, c);
  r.state = closure_state::queued;
  --s.counts.running, ++s.counts.queued;
  --counts.running, ++counts.queued;
  --f.running;
  ++s.put_back;
  ++put_back;
  if (pause == duration{}) {
    r.details->ready_at = now;
    ++f.queued;
    judge_later(c);
    return placement.push_front(s, c);
  }
  r.details->start_at = now + pause;
  enqueue(c);
}

void coordinator::state::unlink(slot c) {
  auto& r = closures[c];
  if (r.state == closure_state::blocked || r.delayed || r.ganged) {
    end_apart(c);
    if (r.delayed) alarms.clear(r.details->start_at, alarm_kind::start, raw(closures.id_of(c)));
    r.delayed = r.ganged = false;
  } else if (r.state == closure_state::queued) {
    placement.unqueue(*r.owner, c);
  } else if (r.worker) {
    auto& w = *r.worker;
    let_go(w, c);
    if (w.placed) placement.update(w);
  }
}

void coordinator::state::succeed(slot c, blob value) {
  closures[c].value = std::move(value);
  finish(c, closure_state::succeeded);
}

// The first failure of a fail_fast session stops it: see stop_session.
void coordinator::state::fail(slot c, closure_state as, core::failure f) {
  auto& r = closures[c];
  auto& s = *r.owner;
  bool const first = as == closure_state::failed && !s.first_error;
  if (first) s.first_error = f;
  r.rare().failure = std::move(f);
  finish(c, as);
  if (first && s.spec.on_error == on_error::fail_fast && !s.stopping) {
    if (!s.spec.keep_values)
      fx.notices.push_back({s.id, notice_kind::failed, s.generation, *s.first_error});
    stop_session(s, "an earlier closure of " + text(s.id) + " failed");
  }
}

void coordinator::state::cancel(slot c, std::string_view why) {
  fail(c, closure_state::cancelled,
       {failure_kind::cancelled, "", std::string(why), "", "", closures[c].attempt});
}

void coordinator::state::ask_to_stop(slot c) {
  auto& r = closures[c];
  if (r.stop_requested) return;
  r.stop_requested = true;
  // It is being lost: its closures are about to come back. Or it is away: told if it returns.
  if (!r.worker->placed || r.worker->away) return;
  ++metrics.stop_requests;
  fx.stop_requests.push_back({r.worker->stream, closures.id_of(c), r.attempt});
}

void coordinator::state::finish(slot c, closure_state as) {
  auto& r = closures[c];
  auto& s = *r.owner;
  auto& f = functions[s.lanes[r.lane].function];
  auto const was = r.state;
  bool const was_running = was == closure_state::running;
  bool const apart = r.delayed || r.ganged || was == closure_state::blocked;
  auto const stream = r.worker ? r.worker->stream : stream_id{};
  unlink(c);
  finished_some |= was_running;
  r.state = as;
  r.finished = now;
  metrics.total.add(now - r.created);
  if (keeps_arguments(r))
    keep_arguments(c);
  else
    r.args = {};
  auto const leave = [was](closure_counts& counted) {
    --(was == closure_state::running   ? counted.running
       : was == closure_state::blocked ? counted.blocked
                                       : counted.queued);
  };
  leave(s.counts);
  leave(counts);
  --(was_running ? f.running : apart ? f.waiting : f.queued);
  auto const tally = [as](auto& counted) {
    ++(as == closure_state::succeeded ? counted.succeeded
       : as == closure_state::failed  ? counted.failed
                                      : counted.cancelled);
  };
  tally(s.counts);
  tally(counts);
  tally(f);
  if (s.full && !was_running) relieve(s);

  if (r.awaited)
    for (auto const call : waiters.of(closures.id_of(c))) {
      waiter w;
      waiters.remove(call, &w);
      metrics.value_wait.add(now - w.since);
      answer(call, {}, value_of(c));
    }
  if (auto* d = r.details.get()) {
    if (d->deadline != never)
      alarms.clear(d->deadline, alarm_kind::closure_deadline, raw(closures.id_of(c)));
    d->inputs.reset();
    if (d->gang != 0) break_gang(c);
    if (d->extras) unuse_per_worker(*d->extras);
    if (!d->dependents.empty())
      ended_inputs.push_back({closures.id_of(c), as == closure_state::succeeded, r.value,
                              ended_as_input(c), std::move(d->dependents)});
  }
  if (&s == &builders) {
    built(c, stream);
    return forget(c, release_reason::client);
  }
  if (&s == &rebuilders) {
    rebuilt(c);
    return forget(c, release_reason::client);
  }
  if (s.spec.keep_values) {
    keep_value(c);
  } else if (s.spec.hold_values) {
    hold(c);
  } else {
    auto& o = fx.outcomes.emplace_back();  // in place: most have no failure to move
    o.session = s.id;
    o.token = r.token;
    o.ok = as == closure_state::succeeded;
    o.value = std::move(r.value);
    if (!o.ok) o.failure = std::move(r.details->failure);
    forget(c, release_reason::client);
  }
  settle_later(s);
}

void coordinator::state::forget(slot c, release_reason why) {
  auto& r = closures[c];
  if (ended(r.state)) ledger.arguments_bytes -= r.args.size();
  if (!ledger.runs.empty()) ledger.runs.erase(closures.id_of(c));
  places.release(r.place);
  if (r.details)
    for (auto const& a : r.details->lost) places.release(a.place);
  closures.release(c, {why, now});
  if (sessions_held_back > 0) relieve_all();
}

value_reply coordinator::state::value_of(slot c) const {
  auto const& r = closures[c];
  value_reply v;
  v.state = r.state;
  v.value = value_state::ready;
  v.data = r.value;
  if (r.state == closure_state::failed || r.state == closure_state::cancelled)
    v.failure = r.details->failure;
  if (v.failure.kind == failure_kind::worker_lost) v.value = value_state::aborted;
  return v;
}

}  // namespace muster::core
