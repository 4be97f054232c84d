// Searches by number or session scan all tasks: there are few tasks, and searches are rare.
#include "server/core/policies/stateful_tasks.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace muster::core {

bool stateful_tasks::holds_state(std::string const& job) const {
  auto const& jobs = config_.stateful_jobs;
  return std::find(jobs.begin(), jobs.end(), job) != jobs.end();
}

stateful_tasks::arrival stateful_tasks::task_connected(task_key const& t, incarnation i) {
  auto const [it, first] = tasks_.try_emplace(t);
  auto& e = it->second;
  if (first) e.number = ++last_;
  arrival a{e.number, std::exchange(e.lost_at, never), !first && e.incarnation != i};
  e.incarnation = i;
  return a;
}

std::uint64_t stateful_tasks::task_disconnected(task_key const& t, time_point until) {
  auto const it = tasks_.find(t);
  if (it == tasks_.end() || it->second.lost_at != never) return 0;
  it->second.lost_at = until;
  return it->second.number;
}

std::uint64_t stateful_tasks::number_of(task_key const& t) const {
  auto const it = tasks_.find(t);
  return it == tasks_.end() ? 0 : it->second.number;
}

stateful_tasks::task_key const* stateful_tasks::find(std::uint64_t number) const {
  auto const it = std::find_if(tasks_.begin(), tasks_.end(),
                               [&](auto const& t) { return t.second.number == number; });
  return it == tasks_.end() ? nullptr : &it->first;
}

time_point stateful_tasks::lose(task_key const& t) {
  auto const it = tasks_.find(t);
  if (it == tasks_.end()) return never;
  auto const at = it->second.lost_at;
  tasks_.erase(it);
  return at;
}

void stateful_tasks::use(session_number s, task_key const& t) {
  if (auto const it = tasks_.find(t); it != tasks_.end()) it->second.users.insert(s);
}

void stateful_tasks::use(session_number s, std::string_view name) {
  auto const colon = name.rfind(':');
  if (colon == std::string_view::npos) return;
  std::int64_t index = -1;
  std::from_chars(name.data() + colon + 1, name.data() + name.size(), index);
  use(s, task_key{std::string(name.substr(0, colon)), index});
}

std::vector<session_number> stateful_tasks::take_users(task_key const& t) {
  auto const it = tasks_.find(t);
  if (it == tasks_.end()) return {};
  auto const users = std::exchange(it->second.users, {});
  return {users.begin(), users.end()};
}

void stateful_tasks::forget(session_number s) {
  for (auto& [task, e] : tasks_) e.users.erase(s);
}

std::size_t stateful_tasks::count_disconnected() const {
  return static_cast<std::size_t>(std::count_if(
      tasks_.begin(), tasks_.end(), [](auto const& t) { return t.second.lost_at != never; }));
}

std::string stateful_tasks::invalid() const {
  for (auto const& [task, e] : tasks_)
    if (!holds_state(task.first) || e.number == 0 || e.number > last_)
      return task.first + " is listed as a stateful task but is not one, or has an invalid number";
  return {};
}

}  // namespace muster::core
