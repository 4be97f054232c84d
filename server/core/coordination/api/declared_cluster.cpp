#include "server/core/coordination/api/declared_cluster.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace muster::core::coordination {
namespace {

constexpr std::string_view jax_job = "jax_worker";
constexpr std::size_t name_bytes_max = 128;
constexpr std::size_t stateful_jobs_max = 64;

bool is_name(std::string_view s) {
  auto const allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !s.empty() && s.size() <= name_bytes_max && std::all_of(s.begin(), s.end(), allowed);
}

status valid_stateful(std::vector<std::string> const& jobs) {
  if (jobs.size() > stateful_jobs_max)
    return wrong_field(
        "stateful",
        std::to_string(jobs.size()) + " names, the limit is " + std::to_string(stateful_jobs_max),
        stateful_jobs_max);
  for (auto const& job : jobs)
    if (!is_name(job))
      return wrong_field("stateful",
                         "'" + job + "' must be 1 to 128 letters, digits, '_', '-' or '.'");
  return {};
}

}  // namespace

task_index cluster_spec::size() const {
  task_index n = 0;
  for (auto const& j : jobs) n += j.tasks;
  return n;
}

task_index cluster_spec::find(std::string_view job, std::int64_t id) const {
  if (id < 0) return no_task;
  task_index first = 0;
  for (auto const& j : jobs) {
    if (j.name == job) return id < j.tasks ? first + static_cast<task_index>(id) : no_task;
    first += j.tasks;
  }
  auto const counted_through = job.empty() || job == jax_job;
  return counted_through && id < first ? static_cast<task_index>(id) : no_task;
}

std::pair<std::size_t, std::uint32_t> cluster_spec::place(task_index task) const {
  std::size_t job = 0;
  while (task >= jobs[job].tasks) task -= jobs[job++].tasks;
  return {job, task};
}

std::pair<task_index, task_index> cluster_spec::tasks_of(std::size_t job) const {
  task_index first = 0;
  for (std::size_t j = 0; j < job; ++j) first += jobs[j].tasks;
  return {first, first + jobs[job].tasks};
}

std::string cluster_spec::task_name(task_index task) const {
  auto const [job, id] = place(task);
  return "/job:" + jobs[job].name + "/task:" + std::to_string(id);
}

status validate(cluster_spec const& spec) {
  if (!is_name(spec.name))
    return wrong_field("name",
                       "'" + spec.name + "' must be 1 to 128 letters, digits, '_', '-' or '.'");
  std::vector<std::string_view> names;
  for (auto const& j : spec.jobs) {
    if (!is_name(j.name))
      return wrong_field("jobs",
                         "'" + j.name + "' must be 1 to 128 letters, digits, '_', '-' or '.'");
    if (j.tasks == 0) return wrong_field("jobs." + j.name, "needs at least one task");
    if (std::find(names.begin(), names.end(), j.name) != names.end())
      return wrong_field("jobs", "'" + j.name + "' is given twice");
    names.push_back(j.name);
  }
  // Prevents overflow when a duration is added to a time.
  constexpr duration longest = std::chrono::hours(24 * 365 * 10);
  for (auto const& [field, value] : {std::pair("heartbeat_timeout", spec.heartbeat_timeout),
                                     std::pair("connection_grace", spec.connection_grace),
                                     std::pair("register_timeout", spec.register_timeout),
                                     std::pair("shutdown_timeout", spec.shutdown_timeout),
                                     std::pair("stuck_after", spec.stuck_after)})
    if (value > longest) return wrong_field(field, "must not exceed ten years");
  if (spec.heartbeat_timeout <= duration::zero())
    return wrong_field("heartbeat_timeout", "must be positive");
  if (spec.connection_grace < duration::zero())
    return wrong_field("connection_grace", "must not be negative");
  if (spec.register_timeout <= duration::zero())
    return wrong_field("register_timeout", "must be positive");
  if (spec.shutdown_timeout < duration::zero())
    return wrong_field("shutdown_timeout", "must not be negative");
  if (spec.stuck_after <= duration::zero()) return wrong_field("stuck_after", "must be positive");
  return spec.stateful_jobs ? valid_stateful(*spec.stateful_jobs) : status();
}

}  // namespace muster::core::coordination
