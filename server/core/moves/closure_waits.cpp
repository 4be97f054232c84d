// Closures that wait for a time, their gang, or a worker that may never come.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/check.hpp"
#include "server/core/moves/closure_life.hpp"

namespace muster::core {

namespace {

// Doubled with each retry up to the limit, less up to a quarter of it, so that closures that failed
// together do not come back together.
duration pause_before(closure_options const& o, std::uint32_t retry, std::uint64_t id) {
  auto pause = o.retry_initial;
  for (std::uint32_t i = 1; i < retry && pause < o.retry_max; ++i) pause *= 2;
  pause = std::min(pause, o.retry_max);
  auto hash = (id + retry) * 0x9E3779B97F4A7C15u;
  hash ^= hash >> 32;
  return pause - pause / 4 * static_cast<std::int64_t>(hash % 1024) / 1024;
}

}  // namespace

void closure_life::wait_for_others(slot c) {
  auto const id = closures_[c].details->gang;
  book_.defer(c, true);
  if (closures_[c].alone) return scheduler_.wait_alone(c, step_.now);
  scheduler_.defer(c);
  if (scheduler_.gangs.member_ready(id, step_.now))
    step_.alarms.set(scheduler_.gangs.find(id)->impatient_at, alarm_kind::gang, id);
}

gang closure_life::forget_gang(std::uint64_t id) {
  if (scheduler_.gangs.oldest(id)) scheduler_.keep_free({});
  auto g = scheduler_.gangs.forget(id);
  if (!g.impatient && g.impatient_at != never)
    step_.alarms.clear(g.impatient_at, alarm_kind::gang, id);
  return g;
}

void closure_life::tell_gangs() {
  while (scheduler_.gangs.any_broken()) {
    auto const [id, culprit] = scheduler_.gangs.take_broken();
    if (!scheduler_.gangs.find(id)) continue;
    auto const g = forget_gang(id);
    auto const why = "its gang '" + g.name + "' cannot start: " + text(culprit) +
                     " ended before the others could";
    for (auto const m : g.members) {
      slot const c = closures_.find(m);
      if (c == no_slot || ended(closures_[c].state)) continue;
      closures_[c].details->gang = 0;
      cancel(c, why);
    }
  }
}

// What is said of a task that is given up.
std::string closure_life::absence(task_row const& t) const {
  auto const away = std::chrono::duration_cast<std::chrono::seconds>(step_.now - t.since);
  return "has been " + std::string(t.lost_since == never ? "gone" : "lost") + " for " +
         std::to_string(away.count()) + " s and is given up (" + t.error + ")";
}

std::optional<failure> closure_life::hopeless(requirement const& r) const {
  auto const given_up = [this](std::string const& job, std::int64_t index) -> task_row const* {
    auto const* t = roster_.tasks.find(job, index);
    return t && t->given_up ? t : nullptr;
  };
  auto const fate = [this](task_row const& t) { return t.name() + ", which " + absence(t); };
  if (!r.job.empty() && r.index >= 0)
    if (auto const* t = given_up(r.job, r.index))
      return failure{
          failure_kind::worker_lost, "", "it can only run on " + fate(*t), "", t->name(), 0};
  for (auto const id : r.per_worker) {
    auto const* v = builds_.find(id);
    if (!v || !component_builds::lost_everywhere(*v)) continue;
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

void closure_life::check_later(slot c) {
  if (roster_.tasks.given_up() == 0) return;
  if (scheduler_.lane_of(c).requirement != 0) step_.to_check.push_back(closures_.id_of(c));
}

// At the end of a step, because a failure may stop the session.
void closure_life::check_feasible() {
  for (auto const id : std::exchange(step_.to_check, {})) {
    slot const c = closures_.find(id);
    if (c == no_slot || ended(closures_[c].state) || closures_[c].worker != worker_number{})
      continue;
    auto const& r = closures_[c];
    auto why = hopeless(scheduler_.required(scheduler_.lane_of(c).requirement));
    if (!why) continue;
    why->attempt = r.attempt;
    if (why->kind == failure_kind::worker_lost) book_.count_aborted();
    fail(c, closure_state::failed, std::move(*why));
  }
}

void closure_life::enqueue(slot c) {
  auto& r = closures_[c];
  check_later(c);
  if (!r.details || r.details->start_at <= step_.now) {
    if (r.details) r.details->ready_at = step_.now;
    if (r.details && (r.details->gang != 0 || r.alone)) return wait_for_others(c);
    return scheduler_.push_back(c);
  }
  book_.defer(c, false);
  scheduler_.defer(c);
  step_.alarms.set(r.details->start_at, alarm_kind::start, raw(closures_.id_of(c)));
}

bool closure_life::retry(worker& w, slot c, core::failure const& f) {
  auto& r = closures_[c];
  auto& s = sessions_.of(r.owner);
  auto* d = r.details.get();
  if (!d || !d->extras || (s.stopping && !r.own_error) || r.stop_requested) return false;
  auto const& o = d->extras->options;
  if (d->retries >= o.max_retries) return false;
  ++d->retries;
  remember_attempt(c, {attempt_end::user_error, f.message});
  scheduler_.let_go(scheduler_.of(w.number), c);
  book_.back(c, closure_book::back_for::retry);
  flow_.note(s, c);
  d->start_at = step_.now + pause_before(o, d->retries, raw(closures_.id_of(c)));
  enqueue(c);
  return true;
}

void closure_life::deadline_passed(slot c) {
  auto& r = closures_[c];
  r.details->deadline = never;  // it has rung
  r.timed_out = true;
  if (r.worker != worker_number{}) return ask_to_stop(c);
  expire(c);
}

void closure_life::waits_no_more(slot c) {
  auto& r = closures_[c];
  scheduler_.end_deferral(c);
  book_.end_deferral(c);
  r.details->ready_at = step_.now;
  if (r.details->gang != 0 || r.alone) return wait_for_others(c);
  scheduler_.push_back(c);
}

}  // namespace muster::core
