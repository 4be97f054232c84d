#include "server/core/coordination/transitions/task_queries.hpp"

namespace muster::core::coordination {

task_queries::task_queries(step_frame& step, task_registry const& registry)
    : step_(step),
      registry_(registry),
      watches_(step.spec.jobs.size() + 1, step.limits.watch_interval, step.limits.few_watchers) {}

void task_queries::on(get_task_state& r) {
  auto states = std::make_shared<task_states>();
  states->version = registry_.version();
  for (auto const& t : r.tasks) {
    if (t.index == no_task)
      return step_.refuse(r.from, code::invalid_argument,
                          "source_task: " + t.name + " is not in the cluster");
    states->tasks.push_back(registry_.status_of(t.index));
  }
  step_.answer(r.from.call, std::shared_ptr<task_states const>(std::move(states)));
}

// `list` is the index of a role in the declaration, or the number of roles to select all tasks.
std::shared_ptr<task_states const> task_queries::snapshot(std::size_t list) {
  auto const& spec = step_.spec;
  auto const states = [&] {
    auto const [first, end] =
        list < spec.jobs.size() ? spec.tasks_of(list) : std::pair(task_index{}, registry_.size());
    return registry_.statuses(first, end);
  };
  return watches_.snapshot(list, registry_.version(), step_.now, states);
}

void task_queries::on(watch_tasks& r) {
  auto const version = registry_.version();
  if (r.version > version)
    return step_.refuse(r.from, code::invalid_argument,
                        "version_number: " + std::to_string(r.version) +
                            " is above the current version " + std::to_string(version));
  auto const jobs = step_.spec.jobs.size();
  if (r.job && *r.job >= jobs)
    return step_.refuse(r.from, code::invalid_argument,
                        "job_name: there is no job " + std::to_string(*r.job));
  // If there is only one role, it contains all tasks, so both kinds of watchers share one reply.
  auto const list = r.job && jobs > 1 ? *r.job : jobs;
  auto const missed = r.version < version;
  auto const soon = r.version >= 0 && watches_.just_delivered(list, r.version, step_.now);
  if (r.at_once || (missed && !soon)) return step_.answer(r.from.call, snapshot(list));
  if (step_.refused_as_full(r.from)) return;
  watches_.add(r.from.call, missed);
  step_.park(r.from, wait_kind::watch, no_task, list);
}

void task_queries::notify_watchers() {
  for (auto const call : watches_.take()) step_.answer(call, snapshot(step_.calls.take(call).what));
}

void task_queries::withdraw(call_id call, waiting_call const& w) {
  if (w.kind == wait_kind::watch) return watches_.remove(call);
  alive_.withdraw(w.group(), call);
}

void task_queries::on(get_alive_tasks& r) {
  auto const who = indices_of(r.tasks);
  if (r.task.index == no_task || !std::binary_search(who.begin(), who.end(), r.task.index))
    return step_.refuse(r.from, code::invalid_argument,
                        "The requesting task is not among the tasks it asks about", false);
  if (step_.refused_as_full(r.from)) return;
  auto const g = alive_.ask(who, r.task.index, r.from.call);
  step_.park(r.from, wait_kind::alive, r.task.index, raw(g));
  check(g);
}

void task_queries::check(alive_group_id g) {
  auto const done = alive_.take_if_complete(g, [this](task_index t) { return connected(t); });
  if (!done) return;
  auto alive = std::make_shared<alive_tasks>();
  for (auto const t : done->tasks) {
    if (!connected(t)) continue;
    alive->tasks.push_back(t);
    alive->incarnations.push_back(registry_[t].incarnation);
  }
  std::shared_ptr<alive_tasks const> const result = std::move(alive);
  for (auto const call : done->calls) {
    step_.calls.take(call);
    step_.answer(call, result);
  }
}

void task_queries::check_alive() {
  for (auto const g : alive_.all()) check(g);
}

void task_queries::forget_asked(task_index t) {
  for (auto const& w : alive_.of(t)) {
    step_.calls.take(w.call);
    alive_.withdraw(w.group, w.call);
    step_.refuse({.call = w.call}, code::cancelled,
                 "Cancelled because " + step_.task_name(t) + " has registered again", false);
  }
}

}  // namespace muster::core::coordination
