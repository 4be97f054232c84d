// Watches of task states, and who of a set is alive.
#include <algorithm>

#include "server/core/coordination/standalone_service.hpp"

namespace muster::core::coordination {

void standalone_service::changed() {
  ++version_;
  if (!watchers_.empty() && watch_due_ == never) watch_due_ = now_ + limits_.watch_interval;
}

task_status standalone_service::status_of(task_index t) const {
  auto const& a = roll_[t];
  return {t, a.state, a.incarnation, a.error};
}

// `job`: position in the specification, or the number of jobs for all of them. One for everybody
// who asks at this version.
std::shared_ptr<task_states const> standalone_service::snapshot(std::size_t job) {
  auto& kept = snapshots_[job];
  if (kept && kept->version == version_) return kept;
  task_index first = 0, end = roll_.size();
  if (job < spec_.jobs.size()) {
    for (std::size_t j = 0; j < job; ++j) first += spec_.jobs[j].tasks;
    end = first + spec_.jobs[job].tasks;
  }
  auto states = std::make_shared<task_states>();
  states->version = version_;
  states->tasks.reserve(end - first);
  for (auto t = first; t < end; ++t) states->tasks.push_back(status_of(t));
  snapshot_at_ = now_;
  return kept = std::move(states);
}

void standalone_service::on(get_task_state& r) {
  auto states = std::make_shared<task_states>();
  states->version = version_;
  for (auto const& t : r.tasks) {
    if (t.index == no_task)
      return refuse(r.from, code::invalid_argument,
                    "source_task: " + t.name + " is not in the cluster");
    states->tasks.push_back(status_of(t.index));
  }
  answer(r.from.call, std::shared_ptr<task_states const>(std::move(states)));
}

void standalone_service::on(watch_tasks& r) {
  if (r.version > version_)
    return refuse(r.from, code::invalid_argument,
                  "version_number: " + std::to_string(r.version) +
                      " is above the current version " + std::to_string(version_));
  if (r.job && *r.job >= spec_.jobs.size())
    return refuse(r.from, code::invalid_argument,
                  "job_name: there is no job " + std::to_string(*r.job));
  // The only job is everybody: both kinds of watchers share one reply.
  auto const job = r.job && spec_.jobs.size() > 1 ? *r.job : spec_.jobs.size();
  // Whoever comes back for more within the interval waits for its end like all the others.
  auto const due = snapshot_at_ + limits_.watch_interval;
  auto const soon =
      r.version >= 0 && now_ < due && snapshots_[job] && snapshots_[job]->version == r.version;
  if (r.at_once || (r.version < version_ && !soon)) return answer(r.from.call, snapshot(job));
  if (parked_.size() >= limits_.parked_calls_max)
    return refuse(r.from, code::resource_exhausted,
                  "the cluster has reached its limit of parked calls");
  if (r.version < version_ && watch_due_ == never) watch_due_ = due;
  watchers_.insert(r.from.call);
  auto p = waiting(wait_kind::watch, r.from, no_task);
  p.job = job;
  park(r.from, std::move(p));
}

void standalone_service::flush_watches() {
  watch_due_ = never;
  auto const calls = std::exchange(watchers_, {});
  for (auto const call : calls) answer(call, snapshot(parked_.take(call).job));
}

void standalone_service::on(get_alive_tasks& r) {
  std::vector<task_index> who;
  who.reserve(r.tasks.size());
  for (auto const& t : r.tasks)
    if (t.index != no_task) who.push_back(t.index);
  if (!std::is_sorted(who.begin(), who.end())) std::sort(who.begin(), who.end());
  who.erase(std::unique(who.begin(), who.end()), who.end());
  if (r.task.index == no_task || !std::binary_search(who.begin(), who.end(), r.task.index))
    return refuse(r.from, code::invalid_argument,
                  "The requesting task is not among the tasks it asks about", false);
  if (parked_.size() >= limits_.parked_calls_max)
    return refuse(r.from, code::resource_exhausted,
                  "the cluster has reached its limit of parked calls");
  auto it = alive_.find(who);
  if (it == alive_.end()) {
    alive_wait w{who, {}, std::vector<std::uint32_t>(who.size()), 0};
    it = alive_.emplace(std::move(who), std::move(w)).first;
  }
  auto& w = it->second;
  w.calls.emplace(r.from.call, r.task.index);
  ++w.asked[w.position(r.task.index)];
  auto p = waiting(wait_kind::alive, r.from, r.task.index);
  p.alive = &w;
  park(r.from, std::move(p));
  check_alive(w);
}

// Answered when every connected task of the set has asked.
void standalone_service::check_alive(alive_wait& w) {
  auto const n = w.tasks.size();
  for (std::size_t i = 0; i < n; ++i) {
    auto const at = (w.awaited + i) % n;
    if (roll_[w.tasks[at]].state != agent_state::connected || w.asked[at] > 0) continue;
    w.awaited = at;
    return;
  }
  auto alive = std::make_shared<alive_tasks>();
  for (auto const t : w.tasks) {
    if (roll_[t].state != agent_state::connected) continue;
    alive->tasks.push_back(t);
    alive->incarnations.push_back(roll_[t].incarnation);
  }
  auto const done = std::move(alive_.extract(w.tasks).mapped());
  std::shared_ptr<alive_tasks const> const result = std::move(alive);
  for (auto const& [call, task] : done.calls) {
    parked_.take(call);
    answer(call, result);
  }
}

// What a process asked that is no more does not speak for the one that took its place.
void standalone_service::forget_asked(task_index t) {
  std::vector<call_id> stale;
  for (auto const& [who, w] : alive_)
    for (auto const& [call, task] : w.calls)
      if (task == t) stale.push_back(call);
  for (auto const call : stale) {
    withdraw(call, parked_.take(call));
    refuse({.call = call}, code::cancelled,
           "Cancelled because " + task_name(t) + " has registered again", false);
  }
}

void standalone_service::check_all_alive() {
  std::vector<alive_wait*> all;
  for (auto& [who, w] : alive_) all.push_back(&w);
  for (auto* w : all) check_alive(*w);
}

}  // namespace muster::core::coordination
