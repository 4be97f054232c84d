#include "server/core/coordination/groups/alive_groups.hpp"

#include <algorithm>

namespace muster::core::coordination {

std::size_t alive_groups::group::position(task_index t) const {
  return static_cast<std::size_t>(std::lower_bound(tasks.begin(), tasks.end(), t) - tasks.begin());
}

alive_group_id alive_groups::ask(std::vector<task_index> const& tasks, task_index t, call_id call) {
  auto const [it, fresh] = by_tasks_.try_emplace(tasks);
  if (fresh) it->second = groups_.add({tasks, {}, std::vector<std::uint32_t>(tasks.size()), 0});
  auto& g = groups_.at(it->second);
  g.calls.emplace(call, t);
  ++g.asked[g.position(t)];
  return it->second;
}

void alive_groups::withdraw(alive_group_id id, call_id call) {
  auto& g = groups_.at(id);
  auto const it = g.calls.find(call);
  --g.asked[g.position(it->second)];
  g.calls.erase(it);
  if (!g.calls.empty()) return;
  by_tasks_.erase(g.tasks);
  groups_.take(id);
}

std::optional<alive_groups::complete> alive_groups::take_if_complete(
    alive_group_id id, connected const& is_connected) {
  auto& g = groups_.at(id);
  auto const n = g.tasks.size();
  for (std::size_t i = 0; i < n; ++i) {
    auto const at = (g.awaited + i) % n;
    if (g.asked[at] > 0 || !is_connected(g.tasks[at])) continue;
    g.awaited = at;
    return {};
  }
  by_tasks_.erase(g.tasks);
  auto done = groups_.take(id);
  complete c{std::move(done.tasks), {}};
  for (auto const& [call, t] : done.calls) c.calls.push_back(call);
  return c;
}

std::vector<alive_group_id> alive_groups::all() const {
  std::vector<alive_group_id> ids;
  for (auto const& [tasks, id] : by_tasks_) ids.push_back(id);
  return ids;
}

std::vector<alive_groups::waiter> alive_groups::of(task_index t) const {
  std::vector<waiter> found;
  for (auto const& [tasks, id] : by_tasks_)
    for (auto const& [call, who] : groups_.at(id).calls)
      if (who == t) found.push_back({call, id});
  return found;
}

std::size_t alive_groups::waiting() const {
  std::size_t n = 0;
  groups_.for_each([&](alive_group_id, group const& g) { n += g.calls.size(); });
  return n;
}

std::string alive_groups::violated_invariant() const {
  std::string broken;
  groups_.for_each([&](alive_group_id id, group const& g) {
    if (g.calls.empty()) broken = "a group of tasks without waiting calls is still stored";
    auto const it = by_tasks_.find(g.tasks);
    if (it == by_tasks_.end() || it->second != id)
      broken = "a group cannot be found by its set of tasks";
    std::vector<std::uint32_t> asked(g.tasks.size());
    for (auto const& [call, t] : g.calls) ++asked[g.position(t)];
    if (asked != g.asked) broken = "the number of waiting calls of a group is wrong";
  });
  return broken;
}

}  // namespace muster::core::coordination
