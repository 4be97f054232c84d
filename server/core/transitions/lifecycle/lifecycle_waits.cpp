#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "server/core/texts/reason_texts.hpp"
#include "server/core/transitions/lifecycle/lifecycle.hpp"

namespace muster::core {

// The pause doubles with each retry up to the limit, and is shortened by up to a quarter, so that
// closures that failed together are not retried together.
duration lifecycle::pause_before_retry(closure_options const& o, std::uint32_t retry,
                                       std::uint64_t id) {
  auto pause = o.retry_initial;
  for (std::uint32_t i = 1; i < retry && pause < o.retry_max; ++i) pause *= 2;
  pause = std::min(pause, o.retry_max);
  auto hash = (id + retry) * 0x9E3779B97F4A7C15u;
  hash ^= hash >> 32;
  return pause - pause / 4 * static_cast<std::int64_t>(hash % 1024) / 1024;
}

void lifecycle::wait_for_others(slot c) {
  auto const id = core_.closures[c].details->gang;
  core_.book.defer(c, true);
  if (core_.closures[c].exclusive) return core_.scheduler.wait_exclusive(c, core_.step.now);
  core_.scheduler.defer(c);
  if (core_.scheduler.gangs.member_ready(id, core_.step.now))
    core_.step.alarms.set(core_.scheduler.gangs.find(id)->impatient_at, alarm_kind::gang, id);
}

gang lifecycle::forget_gang(std::uint64_t id) {
  if (core_.scheduler.gangs.oldest(id)) core_.scheduler.keep_free({});
  auto g = core_.scheduler.gangs.forget(id);
  if (!g.impatient && g.impatient_at != never)
    core_.step.alarms.clear(g.impatient_at, alarm_kind::gang, id);
  return g;
}

void lifecycle::cancel_broken_gangs() {
  while (core_.scheduler.gangs.any_broken()) {
    auto const [id, culprit] = core_.scheduler.gangs.take_broken();
    if (!core_.scheduler.gangs.find(id)) continue;
    auto const g = forget_gang(id);
    auto const why = "its gang '" + g.name + "' cannot start: " + text(culprit) +
                     " ended before the other closures were ready";
    for (auto const m : g.members) {
      slot const c = core_.closures.find(m);
      if (c == no_slot || ended(core_.closures[c].state())) continue;
      core_.closures[c].details->gang = 0;
      cancel(c, why);
    }
  }
}

std::string lifecycle::absence(task_row const& t) const {
  return core::absence(t.lost_since != never, core_.step.now - t.since, t.error);
}

std::optional<failure> lifecycle::unsatisfiable(requirement const& r) const {
  auto const given_up = [this](std::string const& job, std::int64_t index) -> task_row const* {
    auto const* t = core_.registry.tasks.find(job, index);
    return t && t->given_up ? t : nullptr;
  };
  auto const fate = [this](task_row const& t) { return t.name() + ", which " + absence(t); };
  if (!r.job.empty() && r.index >= 0)
    if (auto const* t = given_up(r.job, r.index))
      return failure{
          failure_kind::worker_lost, "", "it can only run on " + fate(*t), "", t->name(), 0};
  for (auto const id : r.per_worker) {
    auto const* v = core_.builds.find(id);
    if (!v) continue;
    if (auto why = unbuildable(*v, r)) return why;
    if (!component_builds::has_lost_all_tasks(*v)) continue;
    task_row const* last = nullptr;
    bool const all = std::all_of(v->components.begin(), v->components.end(), [&](auto const& e) {
      auto const* t = given_up(e.first.first, e.first.second);
      if (t && (!last || t->since > last->since)) last = t;
      return t != nullptr;
    });
    if (all)
      return failure{failure_kind::input,
                     "",
                     "it needs " + text(id) +
                         ", which was lost with every worker that built it, "
                         "the last on " +
                         fate(*last),
                     "",
                     last->name(),
                     0};
  }
  return {};
}

void lifecycle::check_later(slot c) {
  if (core_.registry.tasks.given_up() == 0 && !core_.builds.any_troubled()) return;
  if (core_.scheduler.queue_of(c).requirement != 0)
    core_.step.to_check.push_back(core_.closures.id_of(c));
}

std::size_t lifecycle::check_all_later() {
  auto const before = core_.step.to_check.size();
  for (session_queue const& s : core_.scheduler.all_queues()) {
    std::vector<bool> hopeless(s.queues.size());
    bool deferred = false;
    for (std::size_t i = 0; i < s.queues.size(); ++i) {
      auto const& l = s.queues[i];
      if (l.requirement == 0 || !l.waits() ||
          !unsatisfiable(core_.scheduler.required(l.requirement)))
        continue;
      hopeless[i] = true;
      deferred |= l.deferred > 0;
      for (slot c = l.queue.front; c != no_slot; c = core_.closures[c].next)
        core_.step.to_check.push_back(core_.closures.id_of(c));
    }
    if (!deferred) continue;
    for (slot c = s.deferred.front; c != no_slot; c = core_.closures[c].next)
      if (hopeless[core_.closures[c].queue]) core_.step.to_check.push_back(core_.closures.id_of(c));
  }
  return core_.step.to_check.size() - before;
}

// Runs at the end of a step, because a failure can stop the session.
void lifecycle::check_feasible() {
  if (std::exchange(core_.step.check_all, false)) check_all_later();
  for (auto const id : std::exchange(core_.step.to_check, {})) {
    slot const c = core_.closures.find(id);
    if (c == no_slot || ended(core_.closures[c].state()) ||
        core_.closures[c].worker != worker_number{})
      continue;
    auto const& r = core_.closures[c];
    auto why = unsatisfiable(core_.scheduler.required(core_.scheduler.queue_of(c).requirement));
    if (!why) continue;
    why->attempt = r.attempt;
    if (why->kind == failure_kind::worker_lost) core_.book.count_aborted();
    fail(c, closure_state::failed, std::move(*why));
  }
}

void lifecycle::enqueue(slot c) {
  auto& r = core_.closures[c];
  check_later(c);
  if (!r.details || r.details->start_at <= core_.step.now) {
    if (r.details) r.details->ready_at = core_.step.now;
    if (r.details && (r.details->gang != 0 || r.exclusive)) return wait_for_others(c);
    return core_.scheduler.push_back(c);
  }
  core_.book.defer(c, false);
  core_.scheduler.defer(c);
  core_.step.alarms.set(r.details->start_at, alarm_kind::start, raw(core_.closures.id_of(c)));
}

bool lifecycle::retry(worker& w, slot c, core::failure const& f) {
  auto& r = core_.closures[c];
  auto& s = core_.sessions.of(r.owner);
  auto* d = r.details.get();
  if (!d || !d->extras || (s.stopping && !r.own_error) || r.stop_requested) return false;
  auto const& o = d->extras->options;
  if (d->retries >= o.max_retries) return false;
  ++d->retries;
  remember_attempt(c, {attempt_end::user_error, f.message});
  core_.scheduler.let_go(core_.scheduler.of(w.number), c);
  core_.book.requeue(c, closure_book::requeue_cause::retry);
  d->start_at = core_.step.now + pause_before_retry(o, d->retries, raw(core_.closures.id_of(c)));
  enqueue(c);
  return true;
}

void lifecycle::deadline_passed(slot c) {
  auto& r = core_.closures[c];
  r.details->deadline = never;
  r.timed_out = true;
  if (r.worker != worker_number{}) return ask_to_stop(c);
  expire(c);
}

void lifecycle::start_delay_elapsed(slot c, queue_end to) {
  auto& r = core_.closures[c];
  core_.scheduler.end_deferral(c);
  core_.book.end_deferral(c);
  r.details->ready_at = core_.step.now;
  if (r.details->gang != 0 || r.exclusive) return wait_for_others(c);
  to == queue_end::head ? core_.scheduler.push_front(c) : core_.scheduler.push_back(c);
}

// Closures that ran before are put at the heads of their queues, the oldest last.
void lifecycle::start_delays_elapsed() {
  std::vector<slot> begun;
  for (auto const id : std::exchange(core_.step.starts_due, {})) {
    slot const c = core_.closures.find(id);
    // Another alarm of this step may have ended the closure.
    if (c == no_slot || !core_.closures[c].is(closure_phase::delayed)) continue;
    if (core_.closures[c].is_blamed_for_last_loss())
      begun.push_back(c);
    else
      start_delay_elapsed(c, queue_end::tail);
  }
  std::sort(begun.begin(), begun.end(), [this](slot l, slot r) {
    auto const& a = core_.closures[l];
    auto const& b = core_.closures[r];
    return std::pair(a.details->start_at, a.order) > std::pair(b.details->start_at, b.order);
  });
  for (slot const c : begun) start_delay_elapsed(c, queue_end::head);
}

}  // namespace muster::core
