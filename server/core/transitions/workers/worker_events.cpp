#include "server/core/transitions/workers/worker_events.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace muster::core {
namespace {

// Returns whether another host serves the task. A disconnected or silent worker may have moved.
bool lives_elsewhere(task_row const& t, std::string const& host) {
  return t.state == task_state::connected && !t.worker->away && !host.empty() &&
         !t.spec.host.empty() && t.spec.host != host;
}

std::string connected_from(task_row const& t) {
  auto const pid = t.spec.pid == 0 ? std::string() : ", process " + std::to_string(t.spec.pid);
  return t.name() + " is connected from host '" + t.spec.host + "'" + pid;
}

// Returns whether the task has a component that is hard to build. Other tasks may be unable to
// build such a component.
bool builds_a_troubled_value(component_builds const& builds, task_row const& t) {
  return std::any_of(builds.troubled().begin(), builds.troubled().end(), [&](per_worker_id v) {
    return builds.find(v)->components.contains({t.job, t.index});
  });
}

}  // namespace

muster::result<std::vector<function_id>> worker_events::functions_of(worker_spec const& spec) {
  auto const limit = core_.step.config.functions_per_worker_max;
  if (spec.functions.size() > limit)
    return status{code::resource_exhausted,
                  "the worker declares " + std::to_string(spec.functions.size()) +
                      " functions; the limit is " + std::to_string(limit)};
  std::vector<function_id> ids;
  for (auto const& f : spec.functions) {
    auto const id = core_.book.functions.intern(f);
    if (!id) return id.error();
    ids.push_back(*id);
    core_.book.functions[*id].ever_had = true;
  }
  return ids;
}

worker_events::newcomer worker_events::attach(worker_attached& e) {
  auto const refuse = [&](status why, bool final = false) {
    core_.step.fx.disconnects.push_back({e.stream, std::move(why), final});
    return newcomer{};
  };
  if (core_.step.stopping) return refuse({code::unavailable, "the server is shutting down"});
  check(!core_.registry.find(e.stream), "a stream must not attach twice");
  auto& spec = e.spec;
  auto const ids = functions_of(spec);
  if (!ids) return refuse(ids.error());
  auto const row = core_.registry.tasks.admit(core_.step.now, spec, [this](std::string const& job) {
    return building_.expected_tasks(job);
  });
  if (!row) return refuse(row.error());
  auto& t = **row;

  // The newest incarnation holds the task. If the same incarnation attaches again, its old stream
  // is dead, even if this was not detected yet.
  bool const returns = t.spec.incarnation == spec.incarnation;
  // A delayed hello from an older connection describes an older state.
  if (returns && spec.stream != 0 && spec.stream <= t.spec.stream)
    return refuse({code::aborted, t.name() + " has reconnected since"});
  if (t.worker && returns && core_.step.config.reconnect_grace == duration{})
    disconnect(*t.worker, {code::aborted, t.name() + " attached again"}, false, task_state::error);
  bool const replaces = spec.replaces != incarnation{} && spec.replaces == t.spec.incarnation;
  if (t.worker && !returns && !replaces && spec.index >= 0 && lives_elsewhere(t, spec.host)) {
    if (t.is_alive_since_claim(spec.incarnation))
      return refuse({code::already_exists,
                     connected_from(t) +
                         "; choose another index or none, or take it over after 'muster drain " +
                         t.name() + "'"},
                    true);
    // The other host may have just failed; only a later message shows that the host is alive.
    t.add_claim(core_.step.now, spec.incarnation);
    return refuse(
        {code::unavailable,
         connected_from(t) +
             "; this worker waits until the other worker stops responding, and exits if " +
             t.name() + " turns out to be alive"});
  }
  if (t.worker && !returns)
    replace(*t.worker, replaces ? "its process has ended, and a new process has connected"
                                : t.name() + " was taken over by another process on " + spec.host);
  if (returns) forgive(t);
  t.suspects.clear();

  auto* const old = t.worker;
  auto& w = core_.registry.add(e.stream, t);
  w.draining = old && old->draining;
  auto const later = returns ? duration{} : start_delay(t.index);
  if (later > duration{}) {
    w.starts_at = core_.step.now + later;
    core_.step.report_incident(incidents::worker_start_delayed{t.name(), later});
  }
  if (old) w.starts_at = old->starts_at;
  w.waiting = w.starts_at > core_.step.now;
  if (w.waiting) core_.step.alarms.set(w.starts_at, alarm_kind::worker_start, raw(w.stream));
  w.place = core_.places.add(t.name(), spec.incarnation, spec.host);
  core_.registry.tasks.arrived(core_.step.now, t, std::move(spec));
  on_state_attached(t);
  core_.registry.serve(w);
  core_.step.fx.changes.workers.push_back({w.number, true, t.job, t.index, t.spec.slots});
  t.functions = *ids;

  auto& slots = core_.scheduler.add(slots_of(w, old));
  building_.expect_components(w);
  core_.scheduler.reconsider(slots);
  core_.scheduler.place(slots, *ids);
  count(w);
  core_.step.fx.welcomes.push_back({w.stream,
                                    t.job,
                                    t.index,
                                    slots.credits,
                                    core_.step.config.heartbeat_interval(),
                                    {},
                                    core_.step.config.reconnect_grace,
                                    slots.credits - slots.slots});
  if (e.programs)
    core_.step.fx.welcomes.back().kept_ranks = core_.programs.attached(
        core_.step.now, {w.stream, t.job, t.index, t.spec.incarnation, t.spec.host}, *e.programs);
  return {&w, old};
}

worker_slots worker_events::slots_of(worker const& w, worker const* old) const {
  auto const& t = *w.task;
  worker_slots at;
  at.stream = w.stream;
  at.number = w.number;
  at.job = t.job;
  at.index = t.index;
  at.labels = t.spec.labels;
  at.free = at.resources = t.spec.resources;
  at.credits = std::clamp(t.spec.credits, 1u, core_.step.config.credits_max);
  at.slots = std::min(std::max(1u, t.spec.slots), at.credits);
  at.window = at.slots;
  if (old) {
    auto const& before = core_.scheduler.of(old->number);
    at.window = std::clamp(before.window - before.yielded, at.slots, at.credits);
  }
  at.open = w.open();
  at.by_name_only = core_.stateful.holds_state(t.job);
  return at;
}

void worker_events::go_on(newcomer const& n, std::vector<held_closure> const& held) {
  if (n.before)
    come_back(*n.before, *n.now, held);
  else
    adopt_held(*n.now, held);
}

// Server processes never assign the same id twice, so the worker holds this very closure.
bool worker_events::can_adopt(slot c, std::uint32_t attempt) const {
  auto const& r = core_.closures[c];
  return core_.closures.is_from_earlier_process(c) && r.state() == closure_state::queued &&
         !r.sent() && !r.is(closure_phase::gathering) && attempt > r.attempt;
}

void worker_events::adopt_held(worker& w, std::vector<held_closure> const& held) {
  auto& at = core_.scheduler.of(w.number);
  for (std::uint32_t i = 0; i < held.size(); ++i) {
    slot const c = core_.closures.find(held[i].closure);
    if (c == no_slot) continue;
    if (!can_adopt(c, held[i].attempt) || at.held() >= at.credits ||
        (at.shut & worker_slots::runs_exclusive) || !core_.scheduler.has_free(at, c))
      continue;
    life_.adopt_held(at, c, held[i].attempt);
    if (held[i].waits && at.may_yield()) life_.yield_slot_of(at, c);
    core_.step.fx.welcomes.back().kept.push_back(i);
  }
  if (held.empty()) return;
  life_.start_waiting(at);
  core_.scheduler.update(at);
}

// Records closures that have been running for a while, so that the next server process waits for
// this worker.
void worker_events::note_running(worker& w) {
  if (!core_.step.config.durable || core_.step.now < w.noted_at + worth_noting) return;
  w.noted_at = core_.step.now;
  for (slot c = core_.scheduler.of(w.number).running.front; c != no_slot;
       c = core_.closures[c].next) {
    auto& r = core_.closures[c];
    if (r.noted || core_.step.now < r.started + worth_noting) continue;
    r.noted = true;
    core_.book.report_move(c, move_reason::runs_long);
  }
}

void worker_events::come_back(worker& old, worker& w, std::vector<held_closure> const& held) {
  auto& t = *w.task;
  if (!old.away)
    core_.step.fx.disconnects.push_back(
        {old.stream, {code::aborted, t.name() + " attached again"}, false});
  auto const had = core_.scheduler.of(old.number).held();
  auto& kept = core_.step.fx.welcomes.back().kept;
  hand_over(old, w, held, kept);
  retire(old);
  dismiss(old);
  ++t.reconnects;
  if (w.draining) core_.step.fx.drain_requests.push_back({w.stream});
  if (t.cordoned || core_.scheduler.of(w.number).yielded > 0) retract_prefetched(w);
  core_.step.report_incident(incidents::worker_returned{t.name(), kept.size(), had});
}

// Another incarnation now holds the task, so the server does not wait for the old one.
void worker_events::replace(worker& old, std::string why) {
  if (old.away) return lose(old, task_state::error, std::move(why));
  disconnect(old, {code::already_exists, std::move(why)}, true, task_state::error);
}

// Requeues from newest to oldest, each at the head, which restores the queue order. A closure is
// suspected only if it was executing and not waiting for a value; if a process ended, only its
// closure is suspected. Workers that were draining, or that stop with this server, do not count as
// lost.
void worker_events::lose(worker& w, task_state as, std::string why, bool blamed,
                         held_closure const* process) {
  auto& t = *w.task;
  bool const clean = as == task_state::disconnected;
  bool const was_away = w.away;
  blamed = blamed && !clean && !w.draining && !core_.step.stopping;
  retire(w);  // before any closure is queued again
  auto& at = core_.scheduler.of(w.number);
  while (at.held() > 0) {
    slot const c = at.newest();
    auto const& r = core_.closures[c];
    bool const suspect =
        process ? process->closure == core_.closures.id_of(c) && process->attempt == r.attempt
                : blamed && !r.sent() && !r.waits;
    if (suspect && was_away) blame(w, c);
    life_.requeue(w, c, suspect, {attempt_end::worker_lost, why}, {}, suspect && process);
  }
  core_.builds.lose({t.job, t.index}, w.stream, why, core_.step.now);
  dismiss(w);
  on_state_lost(t, why, clean);
  core_.registry.tasks.left(core_.step.now, t, as, std::move(why));
  // A worker lost in any other way can return, or is given up later, when all queues are checked.
  core_.step.check_all |= clean && builds_a_troubled_value(core_.builds, t);
}

void worker_events::retire(worker& w) {
  w.draining = true;
  auto& at = core_.scheduler.of(w.number);
  at.open = false;
  count(w);
  core_.scheduler.update(at);
  core_.scheduler.remove(at);
}

void worker_events::dismiss(worker& w) {
  if (w.alarm != never) core_.step.alarms.clear(w.alarm, alarm_kind::worker_return, raw(w.stream));
  if (w.waiting) core_.step.alarms.clear(w.starts_at, alarm_kind::worker_start, raw(w.stream));
  core_.programs.worker_disconnected(core_.step.now, w.stream);
  core_.places.release(w.place);
  core_.step.fx.changes.workers.push_back({w.number, false, {}, 0, 0});
  core_.builds.forget(w.stream);
  core_.scheduler.forget(core_.scheduler.of(w.number));
  core_.registry.erase(w);
}

duration worker_events::start_delay(std::int64_t index) const {
  if (core_.step.config.start_delay == duration{}) return {};
  auto const most = core_.step.config.start_delay_max > duration{}
                        ? core_.step.config.start_delay_max
                        : duration(std::chrono::hours(24 * 365));
  return index > most / core_.step.config.start_delay
             ? most
             : std::min(most, core_.step.config.start_delay * index);
}

void worker_events::start(worker& w) {
  w.waiting = false;
  reopen(w);
}

void worker_events::reopen(worker& w) {
  if (w.open() && !core_.builds.to_build(w.stream).empty()) core_.builds.look_at(w.stream);
  core_.scheduler.of(w.number).open = w.open();
  core_.scheduler.fleet_changed();
  count(w);
  core_.scheduler.update(core_.scheduler.of(w.number));
}

void worker_events::count(worker& w) {
  if (w.serves() == w.counted) return;
  w.counted = w.serves();
  core_.scheduler.fleet_changed();
  for (auto const f : core_.scheduler.of(w.number).placed->functions)
    core_.book.functions[f].workers += w.counted ? 1u : ~0u;
}

void worker_events::disconnect(worker& w, status why, bool final, task_state as) {
  auto const reason = why.message;
  core_.step.fx.disconnects.push_back({w.stream, std::move(why), final});
  lose(w, as, reason);
}

void worker_events::remove_silent(task_row& t) {
  auto const ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(core_.step.now - t.last_seen);
  auto why = t.name() + " was silent for " + std::to_string(ms.count()) + " ms";
  if (t.worker->away)
    core_.step.report_incident(incidents::worker_lost{t.name(), why});
  else
    core_.step.fx.disconnects.push_back({t.worker->stream, {code::deadline_exceeded, why}, false});
  // A silent host has lost its power or network, for which no closure is to blame.
  lose(*t.worker, task_state::error, std::move(why), false);
}

void worker_events::set_draining(worker& w) {
  w.draining = true;
  core_.scheduler.of(w.number).open = false;
  count(w);
  core_.scheduler.update(core_.scheduler.of(w.number));
}

void worker_events::alive(worker_alive const& e) {
  auto* w = core_.registry.find(e.stream);
  if (!w || w->away) return;
  core_.registry.tasks.seen(core_.step.now, *w->task);
  note_running(*w);
}

void worker_events::disconnected(worker_disconnected const& e) {
  auto* w = core_.registry.find(e.stream);
  if (!w || w->away) return;
  if (e.process_ended) return lose(*w, task_state::error, e.reason, false, &*e.process_ended);
  bool const wait = e.may_return && !e.clean && !core_.step.stopping &&
                    core_.scheduler.of((*w).number).held() > 0 &&
                    core_.step.config.reconnect_grace > duration{};
  if (e.clean && !w->draining) core_.registry.tasks.expect_replacement(*w->task);
  if (wait)
    on_connection_lost(*w, e.reason);
  else
    lose(*w, e.clean ? task_state::disconnected : task_state::error, e.reason);
}

void worker_events::drain(worker_drain const& e) {
  auto* w = core_.registry.find(e.stream);
  if (!w || w->away) return;
  core_.registry.tasks.seen(core_.step.now, *w->task);
  set_draining(*w);
  if (e.tell) core_.step.fx.drain_requests.push_back({w->stream});
}

void worker_events::drain_by_name(drain_task const& e) {
  auto* t = core_.registry.tasks.find(e.job, e.index);
  if (!t)
    return core_.step.answer(
        e.call, {code::not_found, "there is no task " + e.job + ":" + std::to_string(e.index)});
  if (!t->worker)
    return core_.step.answer(e.call, {code::failed_precondition, t->name() + " is not connected"});
  set_draining(*t->worker);
  if (!t->worker->away) core_.step.fx.drain_requests.push_back({t->worker->stream});
  core_.step.answer(e.call, {});
}

void worker_events::cordon(cordon_task const& e) {
  auto* t = core_.registry.tasks.find(e.job, e.index);
  if (!t)
    return core_.step.answer(
        e.call, {code::not_found, "there is no task " + e.job + ":" + std::to_string(e.index)});
  if (t->cordoned != e.on) {
    core_.registry.tasks.cordon(*t, e.on);
    core_.step.report_incident(incidents::task_cordoned{t->name(), e.on});
    if (t->worker) reopen(*t->worker);
    if (t->worker && e.on) retract_prefetched(*t->worker);
  }
  core_.step.answer(e.call, {});
}

void worker_events::retract_prefetched(worker& w) {
  if (w.away) return;  // an away worker has no prefetched closures
  auto const& prefetched = core_.scheduler.of(w.number).prefetched;
  for (slot c = prefetched.front; c != no_slot; c = core_.closures[c].next) {
    auto& r = core_.closures[c];
    if (r.retracted || core_.sessions.of(r.owner).delivery() == delivery::build) continue;
    r.retracted = true;
    core_.step.fx.retractions.push_back({w.stream, core_.closures.id_of(c), r.attempt});
  }
}

}  // namespace muster::core
