// Workers come, answer, fall silent and go. The rule behind all of it: a closure is held by at most
// one stream, and only that stream may answer it.
#include <algorithm>

#include "base/check.hpp"
#include "server/core/coordinator_state.hpp"

namespace muster::core {

worker* coordinator::state::find_worker(stream_id s) {
  auto const it = workers.find(s);
  return it == workers.end() ? nullptr : it->second.get();
}

void coordinator::state::attach(worker_attached& e) {
  auto const refuse = [&](status why) {
    fx.disconnects.push_back({e.stream, std::move(why), false});
  };
  if (stopping) return refuse({code::unavailable, "the server is shutting down"});
  check(!workers.contains(e.stream), "a stream attaches once");
  auto& spec = e.spec;
  if (spec.functions.size() > config.functions_per_worker_max)
    return refuse({code::resource_exhausted, "the worker declares " +
                                                 std::to_string(spec.functions.size()) +
                                                 " functions, the limit is " +
                                                 std::to_string(config.functions_per_worker_max)});
  std::vector<function_id> ids;
  for (auto const& f : spec.functions) {
    auto const id = functions.intern(f);
    if (!id) return refuse(id.error());
    ids.push_back(*id);
  }
  auto const row = registry.admit(now, spec);
  if (!row) return refuse(row.error());
  auto& t = **row;

  if (t.state == task_state::error) metrics.recovery.add(now - t.since);

  // The newest incarnation holds the task. The same one coming back means that its old stream is
  // dead, though perhaps nobody has told us yet.
  bool const returns = t.spec.incarnation == spec.incarnation;
  if (t.worker && returns && config.reconnect_grace == duration{})
    disconnect(*t.worker, {code::aborted, t.name() + " attached again"}, false, task_state::error);
  if (t.worker && !returns)
    replace(*t.worker, t.name() + " was taken over by another incarnation on " + spec.host);
  if (returns) forgive(t);
  t.suspects.clear();

  auto owned = std::make_unique<worker>();
  auto& w = *owned;
  auto* const old = t.worker;
  w.stream = e.stream;
  w.task = &t;
  w.slots = std::max(1u, spec.slots);
  w.credits = std::clamp(spec.credits, 1u, config.credits_max);
  w.slots = std::min(w.slots, w.credits);
  w.window = old ? std::clamp(old->window, w.slots, w.credits) : w.slots;
  w.draining = old && old->draining;
  auto const later = returns ? duration{} : start_delay(t.index);
  if (later > duration{}) w.starts_at = now + later;
  if (old) w.starts_at = old->starts_at;
  w.waiting = w.starts_at > now;
  if (w.waiting) alarms.set(w.starts_at, alarm_kind::worker_start, raw(w.stream));
  w.place = places.add(t.name(), spec.incarnation, spec.host);
  registry.arrived(now, t, std::move(spec));
  t.worker = &w;
  t.functions = ids;
  w.free = t.spec.resources;
  workers.emplace(e.stream, std::move(owned));
  expect_components(w);
  reconsider(w);
  placement.add(w, ids, all_sessions());
  count(w);
  fx.welcomes.push_back({w.stream,
                         t.job,
                         t.index,
                         w.credits,
                         config.heartbeat_interval(),
                         {},
                         config.reconnect_grace});
  if (old) come_back(*old, w, e.held);
}

// The worker's new stream takes the place of its old one.
void coordinator::state::come_back(worker& old, worker& w, std::vector<held_closure> const& held) {
  auto& t = *w.task;
  if (!old.away)
    fx.disconnects.push_back({old.stream, {code::aborted, t.name() + " attached again"}, false});
  auto const had = old.holds.size;
  auto& kept = fx.welcomes.back().kept;
  hand_over(old, w, held, kept);
  retire(old);
  dismiss(old);
  ++t.reconnects;
  if (w.draining) fx.drain_requests.push_back({w.stream});
  fx.remarks.push_back({remark_kind::worker_returned, t.name(),
                        "came back after its connection broke: goes on with " +
                            std::to_string(kept.size()) + " of " + std::to_string(had) +
                            " closures"});
}

// Another incarnation has the task now; nobody waits for the old one.
void coordinator::state::replace(worker& old, std::string why) {
  if (old.away) return lose(old, task_state::error, std::move(why));
  disconnect(old, {code::already_exists, std::move(why)}, true, task_state::error);
}

void coordinator::state::results(worker_results& e) {
  auto* w = find_worker(e.stream);
  if (!w || w->away) return;  // disconnected a moment ago; its work is elsewhere by now
  registry.seen(now, *w->task);
  time_point last_started{};
  for (auto& r : e.results) {
    if (slot const c = closures.find(r.closure); c != no_slot) last_started = closures[c].started;
    if (auto const wrong = apply_result(*w, r); !wrong.empty())
      return disconnect(*w, {code::invalid_argument, wrong}, false, task_state::error);
  }
  if (!e.results.empty()) {
    auto const took = now - last_started;
    if (took < config.window_grow_below) w->grow();
    if (took > config.window_shrink_above) w->shrink();
  }
  if (w->placed) placement.update(*w);
}

/// Empty when the result was taken, else what is wrong with it.
std::string coordinator::state::apply_result(worker& w, worker_result& r) {
  slot const c = closures.find(r.closure);
  if (c == no_slot || closures[c].worker != &w)
    return w.task->name() + " answered " + text(r.closure) + ", which it does not hold";
  auto& record = closures[c];
  if (record.attempt != r.attempt)
    return w.task->name() + " answered attempt " + std::to_string(r.attempt) + " of " +
           text(r.closure) + ", it holds attempt " + std::to_string(record.attempt);
  ++w.task->finished;
  metrics.execution.add(now - record.started);
  if (record.timed_out) {
    expire(c);
    return {};
  }
  if (r.ok) {
    succeed(c, std::move(r.value));
    return {};
  }
  r.failure.worker = w.task->name();
  r.failure.attempt = record.attempt;
  if (r.failure.kind == failure_kind::stale_handle && record.owner != &builders) {
    // At once for the first time, as another worker may know it; then less and less often.
    auto const before = std::min<unsigned>(record.worker_failures, 6);
    auto const pause = std::chrono::milliseconds(before == 0 ? 0 : 50 << before);
    put_back_closure(w, c, true,
                     "the worker does not know the function any more: " + r.failure.message, pause);
    return {};
  }
  if (record.owner != &builders && r.failure.kind == failure_kind::dependency_lost) {
    dependency_lost(w, c, std::move(r.failure));
    return {};
  }
  if (record.owner != &builders && r.failure.kind == failure_kind::timeout &&
      bear_timeout(w, c, r.failure))
    return {};
  ++w.task->failed;
  if (r.failure.kind == failure_kind::user && retry(w, c, r.failure)) return {};
  bool const stopped = r.failure.kind == failure_kind::cancelled && record.stop_requested;
  fail(c, stopped ? closure_state::cancelled : closure_state::failed, std::move(r.failure));
  return {};
}

// From the newest to the oldest, each to the head: the queue ends up in its old order. Only what
// the worker can have been executing, its oldest `slots`, counts as a suspect in its death.
void coordinator::state::lose(worker& w, task_state as, std::string why) {
  auto& t = *w.task;
  bool const clean = as == task_state::disconnected;
  if (!clean) ++metrics.worker_failures;
  bool const was_away = w.away;
  retire(w);  // before anything is queued again
  while (w.holds.size > 0) {
    slot const c = w.holds.back;
    bool const suspect = !clean && w.holds.size <= w.slots;
    if (suspect && was_away) blame(w, c);
    put_back_closure(w, c, suspect, "worker lost: " + why);
  }
  lose_components(w, why);
  dismiss(w);
  registry.left(now, t, as, std::move(why));
}

void coordinator::state::retire(worker& w) {
  w.draining = true;
  count(w);
  placement.update(w);
  placement.remove(w);
}

void coordinator::state::dismiss(worker& w) {
  check(w.holds.size == 0 && !w.placed, "a worker that goes has given back what it held");
  if (w.alarm != never) alarms.clear(w.alarm, alarm_kind::worker_return, raw(w.stream));
  if (w.waiting) alarms.clear(w.starts_at, alarm_kind::worker_start, raw(w.stream));
  places.release(w.place);
  workers.erase(w.stream);
}

duration coordinator::state::start_delay(std::int64_t index) const {
  if (config.start_delay == duration{}) return {};
  auto const most = config.start_delay_max > duration{} ? config.start_delay_max
                                                        : duration(std::chrono::hours(24 * 365));
  return index > most / config.start_delay ? most : std::min(most, config.start_delay * index);
}

void coordinator::state::start(worker& w) {
  w.waiting = false;
  if (!w.to_build.empty()) builders_waiting.push_back(w.stream);
  placement.update(w);
}

void coordinator::state::count(worker& w) {
  if (w.serves() == w.counted) return;
  w.counted = w.serves();
  for (auto const f : w.placed->functions) functions[f].workers += w.counted ? 1u : ~0u;
}

void coordinator::state::disconnect(worker& w, status why, bool final, task_state as) {
  auto const reason = why.message;
  fx.disconnects.push_back({w.stream, std::move(why), final});
  lose(w, as, reason);
}

void coordinator::state::lose_silent(task_row& t) {
  auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(now - t.last_seen);
  auto why = t.name() + " was silent for " + std::to_string(ms.count()) + " ms";
  if (!t.worker->away)
    return disconnect(*t.worker, {code::deadline_exceeded, std::move(why)}, false,
                      task_state::error);
  fx.remarks.push_back({remark_kind::worker_lost, t.name(), why});
  lose(*t.worker, task_state::error, std::move(why));
}

void coordinator::state::set_draining(worker& w) {
  w.draining = true;
  count(w);
  placement.update(w);
}

effects const& coordinator::step(time_point now, worker_alive const& e) {
  auto& st = *state_;
  st.begin(now);
  if (auto* w = st.find_worker(e.stream); w && !w->away) st.registry.seen(now, *w->task);
  return st.end();
}

effects const& coordinator::step(time_point now, worker_detached const& e) {
  auto& st = *state_;
  st.begin(now);
  auto* w = st.find_worker(e.stream);
  if (!w || w->away) return st.end();
  bool const wait = e.may_return && !e.clean && !st.stopping && w->holds.size > 0 &&
                    st.config.reconnect_grace > duration{};
  if (wait)
    st.part(*w, e.reason);
  else
    st.lose(*w, e.clean ? task_state::disconnected : task_state::error, e.reason);
  return st.end();
}

effects const& coordinator::step(time_point now, worker_drain const& e) {
  auto& st = *state_;
  st.begin(now);
  if (auto* w = st.find_worker(e.stream); w && !w->away) {
    st.registry.seen(now, *w->task);
    st.set_draining(*w);
    if (e.tell) st.fx.drain_requests.push_back({w->stream});
  }
  return st.end();
}

effects const& coordinator::step(time_point now, drain_task const& e) {
  auto& st = *state_;
  st.begin(now);
  auto* t = st.registry.find(e.job, e.index);
  if (!t) {
    st.answer(e.call, {code::not_found, "no task " + e.job + ":" + std::to_string(e.index)});
  } else if (!t->worker) {
    st.answer(e.call, {code::failed_precondition, t->name() + " is not connected"});
  } else {
    st.set_draining(*t->worker);
    if (!t->worker->away) st.fx.drain_requests.push_back({t->worker->stream});
    st.answer(e.call, {});
  }
  return st.end();
}

}  // namespace muster::core
