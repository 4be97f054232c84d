// A worker whose connection broke without a good-bye is away: shown LATE, sent nothing, and what it
// may be executing stays RUNNING.
//
//   attached ──broke──► away ──same incarnation──► attached: what both sides have goes on
//                        │ │
//                        │ └── a closure has waited long enough ──► back to the queue
//                        └── nothing left to wait for, or another incarnation ──► lost
//
// What was only sent ahead, beyond its oldest `slots`, cannot have been executing and goes back at
// once. A closure waits for a quarter of the time it has run, at most reconnect_grace: whether the
// worker lives cannot be known, so what is staked on it stays small beside the work that is saved.
// `holds` is in the order of dispatch, so the newest stops waiting first.
#include <algorithm>
#include <unordered_map>

#include "base/check.hpp"
#include "server/core/coordinator_state.hpp"

namespace muster::core {

time_point coordinator::state::waits_until(worker const& w, slot c) const {
  constexpr auto work_per_wait = 4;
  auto const ran = w.away_since - closures[c].started;
  return w.away_since + std::min(config.reconnect_grace, ran / work_per_wait);
}

void coordinator::state::part(worker& w, std::string why) {
  auto& t = *w.task;
  w.away = true;
  w.away_since = now;
  count(w);
  placement.update(w);
  while (w.holds.size > w.slots)
    put_back_closure(w, w.holds.back, false, "the connection to its worker broke: " + why);
  t.error = std::move(why);
  registry.away(now, t);
  fx.remarks.push_back({remark_kind::worker_away, t.name(),
                        t.error + "; " + std::to_string(w.holds.size) +
                            " closures that it may be running wait for it"});
  stop_waiting(w);
}

void coordinator::state::stop_waiting(worker& w) {
  while (w.holds.size > 0 && waits_until(w, w.holds.back) <= now) {
    blame(w, w.holds.back);
    put_back_closure(w, w.holds.back, true, "worker lost: " + w.task->error);
  }
  w.alarm = never;
  if (w.holds.size > 0) {
    w.alarm = waits_until(w, w.holds.back);
    return alarms.set(w.alarm, alarm_kind::worker_return, raw(w.stream));
  }
  auto& t = *w.task;
  fx.remarks.push_back({remark_kind::worker_lost, t.name(), t.error});
  lose(w, task_state::error, t.error);
}

void coordinator::state::blame(worker& w, slot c) {
  w.task->suspects.push_back(closures.id_of(c));
}

// Its process lives, so nothing that it ran has killed it.
void coordinator::state::forgive(task_row& t) {
  for (auto const id : t.suspects)
    if (slot const c = closures.find(id); c != no_slot && closures[c].worker_failures > 0 &&
                                          closures[c].worker_failures < worker_failures_max)
      --closures[c].worker_failures;
  t.suspects.clear();
}

// From the newest to the oldest, so that what goes back is in its old order at the head of the
// queue. What the worker does not have never reached it, or its answer was lost on the way.
void coordinator::state::hand_over(worker& from, worker& to, std::vector<held_closure> const& held,
                                   std::vector<std::uint32_t>& kept) {
  std::unordered_map<closure_id, std::uint32_t> position;
  for (std::uint32_t i = 0; i < held.size(); ++i) position.emplace(held[i].closure, i);
  from.away = true;  // nobody reads its stream: stop requests are noted and sent on the new one
  std::vector<slot> to_stop;
  while (from.holds.size > 0) {
    slot const c = from.holds.back;
    auto& r = closures[c];
    auto const it = position.find(closures.id_of(c));
    if (it == position.end() || held[it->second].attempt != r.attempt ||
        to.holds.size >= to.credits || !has_free(to, c)) {
      put_back_closure(from, c, false, "its worker came back without it");
      continue;
    }
    let_go(from, c);
    closures.push_front(to.holds, c);
    r.worker = &to;
    reserve(to, c);
    if (r.owner == &builders) go_on_building(to, c);
    kept.push_back(it->second);
    if (r.stop_requested) to_stop.push_back(c);
  }
  std::sort(kept.begin(), kept.end());
  for (slot const c : to_stop)
    fx.stop_requests.push_back({to.stream, closures.id_of(c), closures[c].attempt});
  placement.update(to);
}

}  // namespace muster::core
