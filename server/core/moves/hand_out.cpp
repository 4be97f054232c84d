// Gangs and closures that run alone first, then turn by turn; and what is said when nothing
// finishes.
#include "server/core/moves/hand_out.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/check.hpp"

namespace muster::core {

// Hands out closures until nothing fits any more. Consecutive turns for one worker become one
// dispatch.
void hand_out::dispatch() {
  if (builds_.any_waits()) building_.send_builds();
  if (scheduler_.gangs.any_waits()) start_gangs();
  if (scheduler_.lone.any_waits()) start_lone_ones();
  while (seat* w = scheduler_.next(run_)) {
    auto const first = static_cast<std::uint32_t>(step_.fx.assignments.size());
    for (slot const c : run_) life_.assign(*w, c);
    scheduler_.update(*w);
    auto const count = static_cast<std::uint32_t>(run_.size());
    if (!step_.fx.dispatches.empty() && step_.fx.dispatches.back().stream == w->stream) {
      step_.fx.dispatches.back().count += count;
    } else {
      step_.fx.dispatches.push_back({w->stream, first, count});
    }
  }
  if (book_.counts().sent == 0 || scheduler_.idle_noted() || !scheduler_.any_idle()) return;
  scheduler_.note_idle(step_.now);
  step_.alarms.set(step_.now + idle_for, alarm_kind::recall, 0);
}

void hand_out::recall() {
  for (slot const c : scheduler_.recall())
    step_.fx.recalls.push_back(
        {roster_.of(closures_[c].worker).stream, closures_.id_of(c), closures_[c].attempt});
}

// The oldest of each worker come first in what it holds.
std::vector<stalled_closure> hand_out::oldest_running() const {
  constexpr std::size_t shown = 5;
  std::vector<slot> oldest;
  for (auto const& [stream, w] : scheduler_.seats()) {
    slot c = w->running.front;
    for (std::size_t i = 0; i < shown && c != no_slot; ++i, c = closures_[c].next)
      oldest.push_back(c);
  }
  auto const earlier = [this](slot a, slot b) {
    auto const& l = closures_[a];
    auto const& r = closures_[b];
    return l.started != r.started ? l.started < r.started
                                  : raw(closures_.id_of(a)) < raw(closures_.id_of(b));
  };
  auto const end = oldest.begin() + static_cast<std::ptrdiff_t>(std::min(shown, oldest.size()));
  std::partial_sort(oldest.begin(), end, oldest.end(), earlier);
  std::vector<stalled_closure> out;
  for (auto it = oldest.begin(); it != end; ++it) {
    auto const& r = closures_[*it];
    out.push_back({closures_.id_of(*it), book_.functions[r.function].name,
                   roster_.of(r.worker).task->name(), r.started});
  }
  return out;
}

void hand_out::report_stall() {
  std::uint64_t queued = 0;  // for a worker; not those that wait for a time
  for (auto const& f : book_.functions.all()) queued += f.queued;
  auto const running = book_.counts().running;
  if (!watchdog_.rang(running + queued > 0, step_.now)) return;
  auto const whole_seconds = [](duration d) {
    auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
    return ms < 10'000 ? std::to_string(ms) + " ms" : std::to_string(ms / 1000) + " s";
  };
  auto text = "nothing finished for " + whole_seconds(step_.now - watchdog_.quiet_since()) + ": " +
              std::to_string(running) + " closures run, " + std::to_string(queued) + " are queued";
  char const* before = "; the oldest: ";
  for (auto const& c : oldest_running()) {
    text += before + core::text(c.closure) + " (" + c.function + ") on " + c.worker + " for " +
            whole_seconds(step_.now - c.since);
    before = ", ";
  }
  step_.fx.remarks.push_back({remark_kind::no_progress, "closures", std::move(text)});
}

bool hand_out::start_gang(std::uint64_t id) {
  auto const chosen = scheduler_.plan(*scheduler_.gangs.find(id), true);
  if (chosen.empty()) return false;
  life_.forget_gang(id);
  for (auto const& [c, w] : chosen) {
    scheduler_.end_deferral(c);
    start_member(*w, c);
  }
  return true;
}

void hand_out::keep_free_for(gang const& g) {
  std::vector<stream_id> wanted;
  for (auto const& [c, w] : scheduler_.plan(g, false)) wanted.push_back(w->stream);
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  scheduler_.keep_free(std::move(wanted));
}

// Those that are set apart are tried as well, one in a step: the plan is greedy, so what is idle
// may hold a gang that all workers do not.
void hand_out::start_gangs() {
  auto& gangs = scheduler_.gangs;
  std::uint64_t turn = 0;
  std::size_t tries = 0;
  for (std::size_t looks = 0; tries < gang_table::tries_max && looks < gang_table::looks_max;
       ++looks) {
    auto const id = gangs.next(turn);
    if (id == 0) break;
    if (start_gang(id)) continue;
    auto const& g = *gangs.find(id);
    bool const fits = gangs.fits(g) || !scheduler_.plan(g, false).empty();
    if (!fits) {
      if (gangs.oldest(id)) scheduler_.keep_free({});
      gangs.set_apart(id);
      continue;
    }
    gangs.found_to_fit(id);
    ++tries;
    if (gangs.oldest(id) && g.impatient) keep_free_for(g);
  }
  if (auto const id = gangs.next_apart(); id != 0) start_gang(id);
}

void hand_out::start_lone_ones() {
  auto& lone = scheduler_.lone;
  auto left = lone.waiting().size();
  for (std::size_t tries = 0; left > 0 && tries < lone_table::tries_max; --left) {
    slot const c = closures_.find(lone.next());
    auto* w = scheduler_.empty_worker_for(c);
    if (!w) {
      ++tries;
      continue;
    }
    scheduler_.end_lone_wait(c, step_.now);
    scheduler_.run_alone_on(*w);
    start_member(*w, c);
  }
}

void hand_out::keep_a_worker_empty() {
  auto& lone = scheduler_.lone;
  auto const tries = std::min(lone.waiting().size(), lone_table::tries_max);
  for (std::size_t i = 0; i < tries; ++i)
    if (scheduler_.keep_one_empty_for(closures_.find(lone.next()))) break;
  lone.wait_longer(step_.now);
}

void hand_out::start_member(seat& w, slot c) {
  book_.end_deferral(c);
  closures_[c].details->gang = 0;
  auto const first = static_cast<std::uint32_t>(step_.fx.assignments.size());
  life_.assign(w, c);
  step_.fx.dispatches.push_back({w.stream, first, 1});
  scheduler_.update(w);
}

}  // namespace muster::core
