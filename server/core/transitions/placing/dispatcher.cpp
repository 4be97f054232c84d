#include "server/core/transitions/placing/dispatcher.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace muster::core {

// Consecutive turns of the same worker become one dispatch.
void dispatcher::dispatch() {
  if (core_.builds.any_waits()) building_.send_builds();
  if (core_.scheduler.gangs.any_waits()) start_gangs();
  if (core_.scheduler.exclusives.any_waits()) start_exclusive_ones();
  while (worker_slots* w = core_.scheduler.next(run_)) {
    auto const first = static_cast<std::uint32_t>(core_.step.fx.assignments.size());
    auto const ran = w->running.size;
    for (slot const c : run_) life_.assign(*w, c);
    core_.scheduler.update(*w);
    auto const count = static_cast<std::uint32_t>(run_.size());
    auto const running = w->running.size - ran;
    if (!core_.step.fx.dispatches.empty() && core_.step.fx.dispatches.back().stream == w->stream) {
      core_.step.fx.dispatches.back().count += count;
      core_.step.fx.dispatches.back().running += running;
    } else {
      core_.step.fx.dispatches.push_back({w->stream, first, count, w->number, running});
    }
  }
  if (core_.book.counts().sent == 0 || core_.scheduler.idle_noted() || !core_.scheduler.any_idle())
    return;
  core_.scheduler.note_idle(core_.step.now);
  core_.step.alarms.set(core_.step.now + idle_for, alarm_kind::retract, 0);
}

void dispatcher::retract() {
  for (slot const c : core_.scheduler.retract(core_.builders.number))
    core_.step.fx.retractions.push_back({core_.registry.of(core_.closures[c].worker).stream,
                                         core_.closures.id_of(c), core_.closures[c].attempt});
}

std::vector<stalled_closure> dispatcher::oldest_running() const {
  constexpr std::size_t shown = 5;
  std::vector<slot> oldest;
  for (auto const& [stream, w] : core_.scheduler.all_workers()) {
    slot c = w->running.front;
    for (std::size_t i = 0; i < shown && c != no_slot; ++i, c = core_.closures[c].next)
      oldest.push_back(c);
  }
  auto const earlier = [this](slot a, slot b) {
    auto const& l = core_.closures[a];
    auto const& r = core_.closures[b];
    return l.started != r.started ? l.started < r.started
                                  : raw(core_.closures.id_of(a)) < raw(core_.closures.id_of(b));
  };
  auto const end = oldest.begin() + static_cast<std::ptrdiff_t>(std::min(shown, oldest.size()));
  std::partial_sort(oldest.begin(), end, oldest.end(), earlier);
  std::vector<stalled_closure> out;
  for (auto it = oldest.begin(); it != end; ++it) {
    auto const& r = core_.closures[*it];
    out.push_back({core_.closures.id_of(*it), core_.book.functions[r.function].name,
                   core_.registry.of(r.worker).task->name(), r.started});
  }
  return out;
}

void dispatcher::report_stall() {
  std::uint64_t queued = 0;  // excludes delayed closures
  for (auto const& f : core_.book.functions.all()) queued += f.queued;
  auto const running = core_.book.counts().running;
  if (!core_.watchdog.on_alarm(running + queued > 0, core_.step.now)) return;
  core_.step.report_incident(incidents::no_progress{core_.step.now - core_.watchdog.quiet_since(),
                                                    running, queued, oldest_running()});
}

bool dispatcher::start_gang(std::uint64_t id) {
  auto const chosen = core_.scheduler.plan(*core_.scheduler.gangs.find(id), true);
  if (chosen.empty()) return false;
  life_.forget_gang(id);
  for (auto const& [c, w] : chosen) {
    core_.scheduler.end_deferral(c);
    start_member(*w, c);
  }
  return true;
}

void dispatcher::keep_free_for(gang const& g) {
  std::vector<stream_id> wanted;
  for (auto const& [c, w] : core_.scheduler.plan(g, false)) wanted.push_back(w->stream);
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  core_.scheduler.keep_free(std::move(wanted));
}

// Each step also tries one oversized gang. Because the plan is greedy, idle workers can hold a gang
// that seemed too large for all workers together.
void dispatcher::start_gangs() {
  auto& gangs = core_.scheduler.gangs;
  std::uint64_t turn = 0;
  std::size_t tries = 0;
  for (std::size_t looks = 0; tries < gang_table::tries_max && looks < gang_table::looks_max;
       ++looks) {
    auto const id = gangs.next(turn);
    if (id == 0) break;
    if (start_gang(id)) continue;
    auto const& g = *gangs.find(id);
    bool const fits = gangs.fits(g) || !core_.scheduler.plan(g, false).empty();
    if (!fits) {
      if (gangs.oldest(id)) core_.scheduler.keep_free({});
      gangs.set_oversized(id);
      continue;
    }
    gangs.found_to_fit(id);
    ++tries;
    if (gangs.oldest(id) && g.impatient) keep_free_for(g);
  }
  if (auto const id = gangs.next_oversized(); id != 0) start_gang(id);
}

void dispatcher::start_exclusive_ones() {
  auto& exclusives = core_.scheduler.exclusives;
  auto left = exclusives.waiting().size();
  for (std::size_t tries = 0; left > 0 && tries < exclusive_table::tries_max; --left) {
    slot const c = core_.closures.find(exclusives.next());
    auto* w = core_.scheduler.empty_worker_for(c);
    if (!w) {
      ++tries;
      continue;
    }
    core_.scheduler.end_exclusive_wait(c, core_.step.now);
    core_.scheduler.run_exclusively_on(*w);
    start_member(*w, c);
  }
}

void dispatcher::keep_a_worker_empty() {
  auto& exclusives = core_.scheduler.exclusives;
  auto const tries = std::min(exclusives.waiting().size(), exclusive_table::tries_max);
  for (std::size_t i = 0; i < tries; ++i)
    if (core_.scheduler.keep_one_empty_for(core_.closures.find(exclusives.next()))) break;
  exclusives.wait_longer(core_.step.now);
}

void dispatcher::start_member(worker_slots& w, slot c) {
  core_.book.end_deferral(c);
  core_.closures[c].details->gang = 0;
  auto const first = static_cast<std::uint32_t>(core_.step.fx.assignments.size());
  life_.assign(w, c);
  core_.step.fx.dispatches.push_back(
      {w.stream, first, 1, w.number, core_.closures[c].is(closure_phase::running)});
  core_.scheduler.update(w);
}

}  // namespace muster::core
