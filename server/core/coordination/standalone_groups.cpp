// Watches of task states, and who of a set is alive.
#include <algorithm>

#include "server/core/coordination/standalone_service.hpp"

namespace muster::core::coordination {

void standalone_service::changed() {
  ++version_;
  if (!watchers_.empty() && watch_due_ == never) watch_due_ = now_ + limits_.watch_interval;
}

std::shared_ptr<task_states const> standalone_service::snapshot() const {
  if (snapshot_ && snapshot_->version == version_) return snapshot_;
  auto states = std::make_shared<task_states>();
  states->version = version_;
  states->tasks.reserve(roll_.size());
  for (task_index t = 0; t < roll_.size(); ++t)
    states->tasks.push_back({t, roll_[t].state, roll_[t].incarnation, roll_[t].error});
  return snapshot_ = std::move(states);
}

void standalone_service::on(get_task_state& r) {
  auto states = std::make_shared<task_states>();
  auto const now_states = snapshot();
  states->version = version_;
  for (auto const& t : r.tasks) {
    if (t.index == no_task)
      return refuse(r.from, code::invalid_argument,
                    "source_task: " + t.name + " is not in the cluster");
    states->tasks.push_back(now_states->tasks[t.index]);
  }
  answer(r.from.call, std::shared_ptr<task_states const>(std::move(states)));
}

void standalone_service::on(watch_tasks& r) {
  if (stopped_)
    return answer(r.from.call, std::make_shared<task_states const>(task_states{{}, -1}));
  if (r.version > version_)
    return refuse(r.from, code::invalid_argument,
                  "version_number: " + std::to_string(r.version) +
                      " is above the current version " + std::to_string(version_));
  if (r.at_once || r.version < version_) return answer(r.from.call, snapshot());
  if (parked_.size() >= limits_.parked_calls_max)
    return refuse(r.from, code::resource_exhausted,
                  "the cluster has reached its limit of parked calls");
  watchers_.insert(r.from.call);
  park(r.from, waiting(wait_kind::watch, r.from, no_task));
}

void standalone_service::flush_watches() {
  watch_due_ = never;
  auto const calls = std::move(watchers_);
  watchers_.clear();
  auto const states = snapshot();
  for (auto const call : calls) {
    parked_.take(call);
    answer(call, states);
  }
}

void standalone_service::on(get_alive_tasks& r) {
  std::vector<task_index> who;
  for (auto const& t : r.tasks)
    if (t.index != no_task) who.push_back(t.index);
  std::sort(who.begin(), who.end());
  who.erase(std::unique(who.begin(), who.end()), who.end());
  if (r.task.index == no_task || !std::binary_search(who.begin(), who.end(), r.task.index))
    return refuse(r.from, code::invalid_argument,
                  "The requesting task is not among the tasks it asks about", false);
  if (stopped_)
    return refuse(r.from, code::internal, "Coordination service has stopped. GetAliveTasks()");
  if (parked_.size() >= limits_.parked_calls_max)
    return refuse(r.from, code::resource_exhausted,
                  "the cluster has reached its limit of parked calls");
  auto& w = alive_.try_emplace(who, alive_wait{who, {}, {}}).first->second;
  w.calls.emplace(r.from.call, r.task.index);
  ++w.asked[r.task.index];
  auto p = waiting(wait_kind::alive, r.from, r.task.index);
  p.alive = &w;
  park(r.from, std::move(p));
  check_alive(w);
}

// Answered when every connected task of the set has asked.
void standalone_service::check_alive(alive_wait& w) {
  auto alive = std::make_shared<alive_tasks>();
  for (auto const t : w.tasks) {
    if (roll_[t].state != agent_state::connected) continue;
    if (!w.asked.contains(t)) return;
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

void standalone_service::check_all_alive(task_index t) {
  std::vector<alive_wait*> concerned;
  for (auto& [who, w] : alive_)
    if (std::binary_search(who.begin(), who.end(), t)) concerned.push_back(&w);
  for (auto* w : concerned) check_alive(*w);
}

}  // namespace muster::core::coordination
