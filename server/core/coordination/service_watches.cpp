// Who asks how tasks are, once or with each change.
#include "server/core/coordination/service.hpp"

namespace muster::core::coordination {

// `list`: position of a job in the declaration, or the number of jobs for all tasks.
std::shared_ptr<task_states const> service::snapshot(std::size_t list) {
  auto const states = [&] {
    auto const [first, end] = list < step_.spec.jobs.size()
                                  ? step_.spec.tasks_of(list)
                                  : std::pair(task_index{}, roster_.size());
    return roster_.statuses(first, end);
  };
  return watches_.snapshot(list, roster_.version(), step_.now, states);
}

void service::on(get_task_state& r) {
  auto states = std::make_shared<task_states>();
  states->version = roster_.version();
  for (auto const& t : r.tasks) {
    if (t.index == no_task)
      return step_.refuse(r.from, code::invalid_argument,
                          "source_task: " + t.name + " is not in the cluster");
    states->tasks.push_back(roster_.status_of(t.index));
  }
  step_.answer(r.from.call, std::shared_ptr<task_states const>(std::move(states)));
}

void service::on(watch_tasks& r) {
  auto const version = roster_.version();
  if (r.version > version)
    return step_.refuse(r.from, code::invalid_argument,
                        "version_number: " + std::to_string(r.version) +
                            " is above the current version " + std::to_string(version));
  if (r.job && *r.job >= step_.spec.jobs.size())
    return step_.refuse(r.from, code::invalid_argument,
                        "job_name: there is no job " + std::to_string(*r.job));
  // The only job is everybody: both kinds of watchers share one reply.
  auto const list = r.job && step_.spec.jobs.size() > 1 ? *r.job : step_.spec.jobs.size();
  auto const missed = r.version < version;
  auto const soon = r.version >= 0 && watches_.just_told(list, r.version, step_.now);
  if (r.at_once || (missed && !soon)) return step_.answer(r.from.call, snapshot(list));
  if (step_.refused_as_full(r.from)) return;
  watches_.add(r.from.call, missed);
  step_.park(r.from, wait_kind::watch, no_task, list);
}

void service::flush_watches() {
  for (auto const call : watches_.take()) step_.answer(call, snapshot(step_.calls.take(call).what));
}

}  // namespace muster::core::coordination
