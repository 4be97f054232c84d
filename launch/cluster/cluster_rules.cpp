#include "muster/cluster_rules.hpp"

#include <algorithm>

#include "launch/cluster/resolver_text.hpp"
#include "launch/cluster/task_rules.hpp"

namespace muster {
namespace cluster {

void check_single(cluster_spec const& spec, std::string const& prefix) {
  for (auto const* job : {"chief", "evaluator"})
    if (task_count(spec, job) > 1)
      throw invalid(prefix + job + " has " + std::to_string(task_count(spec, job)) +
                    " tasks; at most one is allowed");
}

void check_task(cluster_spec const& spec, std::optional<std::string> const& type,
                std::optional<int> index, task_fields const& names) {
  if (index && *index < 0)
    throw invalid(names.index + " is " + std::to_string(*index) + "; it must be 0 or greater");
  if (!type || spec.empty()) return;
  if (!spec.has_job(*type)) {
    if (*type == "evaluator") return;
    throw invalid(names.type + " " + quoted(*type) + " is not a job of the cluster (its jobs are " +
                  listed(spec.jobs()) + ")");
  }
  if (!index || spec.has_task(*type, *index)) return;
  auto const& tasks = spec.job(*type);
  throw invalid(names.index + " is " + std::to_string(*index) + ", but job " + quoted(*type) +
                (tasks.empty()          ? " has no tasks"
                 : spec.is_dense(*type) ? " has tasks 0 to " + std::to_string(tasks.rbegin()->first)
                                        : " has no such task"));
}

}  // namespace cluster

namespace {

using cluster::invalid;
using cluster::quoted;

bool is_known(std::string_view job) {
  return job == "chief" || job == "worker" || job == "ps" || job == "evaluator";
}

std::string task_zero_of(std::string_view job) {
  return "/job:" + std::string(job) + "/replica:0/task:0";
}

std::string leader_among(cluster_spec const& spec, std::initializer_list<char const*> jobs) {
  for (auto const* job : jobs)
    if (spec.has_job(job)) return task_zero_of(job);
  throw invalid("the cluster has neither chief nor worker (its jobs are " +
                cluster::listed(spec.jobs()) + ")");
}

}  // namespace

void validate_cluster(cluster_spec const& spec, std::optional<std::string> const& task_type,
                      std::optional<int> task_id) {
  for (auto const& job : spec.jobs())
    if (!is_known(job))
      throw invalid(
          "job " + quoted(job) +
          " is not allowed in the cluster; allowed jobs are chief, worker, ps, evaluator");
  cluster::check_single(spec, "job ");
  if (task_type && !is_known(*task_type))
    throw invalid("task type " + quoted(*task_type) +
                  " is unknown; known types are chief, worker, ps, evaluator");
  cluster::check_task(spec, task_type, task_id, {"task type", "task id"});
}

void validate_parameter_server_cluster(cluster_spec const& spec,
                                       std::optional<std::string> const& task_type,
                                       std::optional<int> task_id) {
  if (spec.empty()) throw invalid("the cluster is empty; it needs at least one worker and one ps");
  if (!task_type) throw invalid("the task has no type; it must be chief, worker, ps or evaluator");
  validate_cluster(spec, task_type, task_id);
  for (auto const* job : {"ps", "worker"})
    if (task_count(spec, job) < 1)
      throw invalid("the cluster must have at least one " + std::string(job));
}

bool is_chief(cluster_spec const& spec, std::string const& task_type, int task_id) {
  validate_cluster(spec, task_type, task_id);
  if (spec.empty() || task_type == "chief" || task_type == "evaluator") return true;
  return !spec.has_job("chief") && task_type == "worker" && task_id == 0;
}

std::string collective_leader(cluster_spec const& spec, std::string const& task_type, int task_id) {
  if (spec.empty()) return {};
  validate_cluster(spec, task_type, task_id);
  if (task_type == "evaluator") return {};
  return leader_among(spec, {"chief", "worker"});
}

std::string coordination_leader(cluster_spec const& spec) {
  return spec.empty() ? std::string() : leader_among(spec, {"ps", "chief", "worker"});
}

int worker_count(cluster_spec const& spec, std::string const& task_type) {
  validate_cluster(spec, task_type);
  if (task_type == "evaluator") return std::max(1, task_count(spec, "evaluator"));
  if (task_type != "chief" && task_type != "worker")
    throw invalid("task type " + quoted(task_type) +
                  " has no worker count; only chief, worker and evaluator have one");
  return task_count(spec, "chief") + task_count(spec, "worker");
}

int id_in_cluster(cluster_spec const& spec, std::string const& task_type, int task_id) {
  validate_cluster(spec, task_type, task_id);
  if (task_type == "chief") return 0;
  if (task_type == "worker") return task_id + task_count(spec, "chief");
  if (task_type == "evaluator") return task_id;
  throw invalid("task type " + quoted(task_type) +
                " has no worker id; only chief, worker and evaluator have one");
}

int task_count(cluster_spec const& spec, std::string_view task_type) {
  return spec.has_job(task_type) ? static_cast<int>(spec.num_tasks(task_type)) : 0;
}

cluster_spec split_for_evaluator(cluster_spec const& spec, std::string_view task_type) {
  std::map<std::string, cluster_spec::tasks> seen;
  for (auto const& [job, tasks] : spec.by_job())
    if ((job == "evaluator") == (task_type == "evaluator")) seen.emplace(job, tasks);
  return cluster_spec(std::move(seen));
}

}  // namespace muster
