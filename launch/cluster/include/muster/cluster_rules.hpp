// Requirements of TensorFlow's multi-worker strategies on a cluster, and the position of each task
// in it.
//
// Pure functions. The allowed jobs (roles) are chief, worker, ps and evaluator. An empty spec means
// that the program runs alone. The spec may omit an evaluator. All functions can throw
// cluster_error (invalid).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "muster/cluster_spec.hpp"

namespace muster {

/// Checks that these jobs can be combined (at most one chief and one evaluator) and contain the
/// task. If there is no type, checks only the spec; if there is no ID, accepts any index.
void validate_cluster(cluster_spec const& spec, std::optional<std::string> const& task_type = {},
                      std::optional<int> task_id = {});
/// Calls validate_cluster(), and also requires at least one worker, one ps, and a task type.
void validate_parameter_server_cluster(cluster_spec const& spec,
                                       std::optional<std::string> const& task_type,
                                       std::optional<int> task_id = {});

/// Returns whether the task is the chief, an evaluator, the first worker if there is no chief, or
/// the only task.
bool is_chief(cluster_spec const& spec, std::string const& task_type, int task_id);
/// Returns "/job:chief/replica:0/task:0", or worker 0 if there is no chief. Returns "" for an
/// evaluator, or if the program runs alone.
std::string collective_leader(cluster_spec const& spec, std::string const& task_type, int task_id);
/// Returns ps 0, otherwise chief 0, otherwise worker 0, for example "/job:ps/replica:0/task:0".
/// Returns "" if the program runs alone.
std::string coordination_leader(cluster_spec const& spec);

/// Returns the number of training tasks: chief and workers. For an evaluator, returns the number of
/// evaluators, at least one.
/// @throws cluster_error (invalid) for other types
int worker_count(cluster_spec const& spec, std::string const& task_type);
/// Returns the task's position among the training tasks: 0 for the chief, then the workers. For an
/// evaluator, returns its own index.
int id_in_cluster(cluster_spec const& spec, std::string const& task_type, int task_id);
int task_count(cluster_spec const& spec, std::string_view task_type);

/// Returns the part of the cluster that this task's server can see: all evaluators for an
/// evaluator, all other tasks for other types. This prevents work from being placed on an evaluator
/// by mistake.
cluster_spec split_for_evaluator(cluster_spec const& spec, std::string_view task_type);

}  // namespace muster
