// What waits for a worker that stays away. A task that is lost for longer than recovery_timeout is
// given up: whatever can run only there fails, in its queue, BLOCKED, delayed or in a gang alike,
// and so does what comes later while the row says so. The same goes for a PerWorkerValue of which
// every component was on such a task.
//
// The row stays for as long as something waits for it, and task_retention beyond that; once it is
// forgotten, the task is one that has not come yet.
#include <algorithm>
#include <utility>

#include "server/core/coordinator_state.hpp"

namespace muster::core {

// What is said of a task that is given up.
std::string coordinator::state::absence(task_row const& t) const {
  auto const away = std::chrono::duration_cast<std::chrono::seconds>(now - t.since);
  return "has been " + std::string(t.lost_since == never ? "gone" : "lost") + " for " +
         std::to_string(away.count()) + " s and is given up (" + t.error + ")";
}

void coordinator::state::sweep(duration pause) {
  auto const swept = registry.sweep(now, pause, [this](task_row const& t) { return awaited(t); });
  for (auto* t : swept.silent) lose_silent(*t);
  for (auto* t : swept.given_up) give_up(*t);
  if (swept.forgot) forget_components();
}

// Components of tasks that nobody knows any more.
void coordinator::state::forget_components() {
  for (auto& [id, v] : per_worker.all())
    std::erase_if(v.components, [this](auto const& entry) {
      return entry.second.stream == stream_id{} &&
             !registry.find(entry.first.first, entry.first.second);
    });
}

bool coordinator::state::lost_everywhere(per_worker_entry const& v) const {
  return !v.components.empty() &&
         std::all_of(v.components.begin(), v.components.end(),
                     [](auto const& entry) { return entry.second.stream == stream_id{}; });
}

bool coordinator::state::awaited(task_row const& t) const {
  auto const only_there = [&](requirement const& r) {
    if (r.job == t.job && r.index == t.index) return true;
    return std::any_of(r.per_worker.begin(), r.per_worker.end(), [&](per_worker_id id) {
      auto const* v = per_worker.find(id);
      return v && v->components.contains({t.job, t.index}) && lost_everywhere(*v);
    });
  };
  auto const waits = [&](session const& s) {
    return std::any_of(s.lanes.begin(), s.lanes.end(), [&](lane const& l) {
      return l.requirement != 0 && l.waits() && only_there(requirements[l.requirement]);
    });
  };
  return waits(rebuilders) || std::any_of(sessions.begin(), sessions.end(),
                                          [&](auto const& s) { return waits(*s.second); });
}

std::optional<failure> coordinator::state::hopeless(requirement const& r) const {
  auto const given_up = [this](std::string const& job, std::int64_t index) -> task_row const* {
    auto const* t = registry.find(job, index);
    return t && t->given_up ? t : nullptr;
  };
  auto const fate = [this](task_row const& t) { return t.name() + ", which " + absence(t); };
  if (!r.job.empty() && r.index >= 0)
    if (auto const* t = given_up(r.job, r.index))
      return failure{
          failure_kind::worker_lost, "", "it can only run on " + fate(*t), "", t->name(), 0};
  for (auto const id : r.per_worker) {
    auto const* v = per_worker.find(id);
    if (!v || !lost_everywhere(*v)) continue;
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

void coordinator::state::judge_later(slot c) {
  if (registry.given_up() == 0) return;
  auto const& r = closures[c];
  if (r.owner->lanes[r.lane].requirement != 0) to_judge.push_back(closures.id_of(c));
}

// At the end of a step, because a failure may stop the session.
void coordinator::state::judge() {
  for (auto const id : std::exchange(to_judge, {})) {
    slot const c = closures.find(id);
    if (c == no_slot || ended(closures[c].state) || closures[c].worker) continue;
    auto const& r = closures[c];
    auto why = hopeless(requirements[r.owner->lanes[r.lane].requirement]);
    if (!why) continue;
    why->attempt = r.attempt;
    aborted += why->kind == failure_kind::worker_lost;
    fail(c, closure_state::failed, std::move(*why));
  }
}

void coordinator::state::give_up(task_row& t) {
  registry.give_up(t);
  auto const before = to_judge.size();
  for (session& s : all_sessions()) {
    std::vector<bool> dooms(s.lanes.size());
    bool apart = false;
    for (std::size_t i = 0; i < s.lanes.size(); ++i) {
      auto const& l = s.lanes[i];
      if (l.requirement == 0 || !l.waits() || !hopeless(requirements[l.requirement])) continue;
      dooms[i] = true;
      apart |= l.apart > 0;
      for (slot c = l.queue.front; c != no_slot; c = closures[c].next)
        to_judge.push_back(closures.id_of(c));
    }
    if (!apart) continue;
    for (slot c = s.apart.front; c != no_slot; c = closures[c].next)
      if (dooms[closures[c].lane]) to_judge.push_back(closures.id_of(c));
  }
  fx.remarks.push_back(
      {remark_kind::worker_given_up, t.name(),
       absence(t) + "; " + std::to_string(to_judge.size() - before) + " closures waited for it"});
}

}  // namespace muster::core
