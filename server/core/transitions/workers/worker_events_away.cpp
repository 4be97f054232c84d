// A worker whose connection broke without deregistration is away: it is displayed as LATE and
// receives no closures. Closures in its slots stay RUNNING; prefetched closures are requeued
// immediately. A closure waits for a quarter of its run time, but at most for reconnect_grace. The
// worker may be dead, so the waiting time stays small compared with the work saved. `running` is in
// dispatch order, so the newest closure stops waiting first.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/check.hpp"
#include "server/core/transitions/workers/worker_events.hpp"

namespace muster::core {

time_point worker_events::waits_until(worker const& w, slot c) const {
  constexpr auto work_per_wait = 4;
  auto const ran = w.away_since - core_.closures[c].started;
  return w.away_since + std::min(core_.step.config.reconnect_grace, ran / work_per_wait);
}

void worker_events::on_connection_lost(worker& w, std::string why) {
  auto& t = *w.task;
  auto& at = core_.scheduler.of(w.number);
  w.away = true;
  at.open = false;
  w.away_since = core_.step.now;
  core_.programs.worker_disconnected(core_.step.now, w.stream);
  on_state_lost(t, why, false);
  count(w);
  core_.scheduler.update(at);
  while (at.prefetched.size > 0)
    life_.requeue(w, at.prefetched.back, false, {attempt_end::connection_broke, why});
  t.error = std::move(why);
  core_.registry.tasks.set_late(core_.step.now, t);
  core_.step.report_incident(incidents::worker_away{t.name(), t.error, at.running.size});
  stop_waiting(w);
}

void worker_events::stop_waiting(worker& w) {
  auto& holds = core_.scheduler.of(w.number).running;
  while (holds.size > 0 && waits_until(w, holds.back) <= core_.step.now) {
    bool const suspect = !core_.closures[holds.back].waits && !w.draining;
    if (suspect) blame(w, holds.back);
    life_.requeue(w, holds.back, suspect, {attempt_end::worker_lost, w.task->error});
  }
  w.alarm = never;
  if (holds.size > 0) {
    w.alarm = waits_until(w, holds.back);
    return core_.step.alarms.set(w.alarm, alarm_kind::worker_return, raw(w.stream));
  }
  auto& t = *w.task;
  core_.step.report_incident(incidents::worker_lost{t.name(), t.error});
  lose(w, task_state::error, t.error);
}

void worker_events::blame(worker& w, slot c) {
  w.task->suspects.push_back(core_.closures.id_of(c));
}

// The process is alive, so no closure has killed it.
void worker_events::forgive(task_row& t) {
  for (auto const id : t.suspects)
    if (slot const c = core_.closures.find(id); c != no_slot) life_.undo_loss(c);
  t.suspects.clear();
}

// Works from newest to oldest, so that requeued closures keep their order at the head of the queue.
// Closures that the worker does not hold never reached the worker, or their answers were lost.
void worker_events::hand_over(worker& from, worker& to, std::vector<held_closure> const& held,
                              std::vector<std::uint32_t>& kept) {
  std::unordered_map<closure_id, std::uint32_t> position;
  for (std::uint32_t i = 0; i < held.size(); ++i) position.emplace(held[i].closure, i);
  // The old stream is no longer read; stop requests are sent on the new stream.
  from.away = true;
  auto& old_slots = core_.scheduler.of(from.number);
  auto& new_slots = core_.scheduler.of(to.number);
  old_slots.open = false;
  std::vector<slot> to_stop;
  while (old_slots.held() > 0) {
    slot const c = old_slots.newest();
    auto& r = core_.closures[c];
    auto const it = position.find(core_.closures.id_of(c));
    if (it == position.end() || held[it->second].attempt != r.attempt ||
        new_slots.held() >= new_slots.credits || !core_.scheduler.has_free(new_slots, c)) {
      life_.requeue(from, c, false, {attempt_end::not_there});
      continue;
    }
    core_.scheduler.let_go(old_slots, c);
    core_.scheduler.hold_first(new_slots, c);
    core_.book.take_over(c, to.number);
    core_.scheduler.reserve(new_slots, c);
    if (core_.sessions.of(core_.closures[c].owner).delivery() == delivery::build)
      building_.continue_build(to, c);
    if (held[it->second].waits && new_slots.may_yield()) life_.yield_slot_of(new_slots, c);
    kept.push_back(it->second);
    if (r.stop_requested) to_stop.push_back(c);
  }
  // The worker can return with fewer slots. Closures reported as running are running, even if a
  // wait has ended and they outnumber the slots.
  while (new_slots.running.size > new_slots.slots) {
    slot const other = core_.scheduler.stop_one_unreported(new_slots);
    if (other == no_slot) break;
    core_.book.stop(other);
  }
  life_.start_waiting(new_slots);
  std::sort(kept.begin(), kept.end());
  for (slot const c : to_stop)
    core_.step.fx.stop_requests.push_back(
        {to.stream, core_.closures.id_of(c), core_.closures[c].attempt});
  core_.scheduler.update(new_slots);
}

void worker_events::on_state_attached(task_row const& t) {
  if (!core_.stateful.holds_state(t.job)) return;
  stateful_tasks::task_key const task{t.job, t.index};
  auto a = core_.stateful.task_connected(task, t.spec.incarnation);
  if (a.alarm != never) core_.step.alarms.clear(a.alarm, alarm_kind::state_lost, a.number);
  if (!a.lost) return;
  life_.lose_state(task, "another worker process took its place");
  core_.stateful.task_connected(task, t.spec.incarnation);
}

void worker_events::on_state_lost(task_row const& t, std::string const& why, bool final) {
  if (core_.step.stopping || !core_.stateful.holds_state(t.job)) return;
  auto const grace = core_.step.config.reconnect_grace;
  if (final || grace == duration{}) return life_.lose_state({t.job, t.index}, why);
  auto const until = core_.step.now + grace;
  if (auto const number = core_.stateful.task_disconnected({t.job, t.index}, until))
    core_.step.alarms.set(until, alarm_kind::state_lost, number);
}

void worker_events::state_lost(std::uint64_t number) {
  auto const* task = core_.stateful.find(number);
  check(task, "a task's alarm must be removed with the task");
  auto const ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(core_.step.config.reconnect_grace);
  core_.stateful.on_alarm(*task);
  life_.lose_state(stateful_tasks::task_key(*task),
                   "it was disconnected for longer than " + std::to_string(ms.count()) + " ms");
}

}  // namespace muster::core
