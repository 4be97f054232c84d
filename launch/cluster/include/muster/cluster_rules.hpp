// What TensorFlow's multi-worker strategies demand of a cluster, and what each task is in it.
//
// Pure functions. Job names have a meaning here: chief, worker, ps and evaluator; no others are
// allowed. In all of them an empty spec means that the program is alone, and an evaluator need not
// be in the spec. Faults: cluster_error::code::invalid.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "muster/cluster_spec.hpp"

namespace muster {

/// Whether these jobs may be together (one chief and one evaluator at most), and the task is one of
/// them. Without a type only the spec is checked, without an id any index will do.
void validate_cluster(cluster_spec const& spec, std::optional<std::string> const& task_type = {},
                      std::optional<int> task_id = {});
/// The same for training with parameter servers: a cluster with at least one worker and one ps, and
/// a type of one's own.
void validate_parameter_server_cluster(cluster_spec const& spec,
                                       std::optional<std::string> const& task_type,
                                       std::optional<int> task_id = {});

/// The chief, an evaluator (it is its own), the first worker where there is no chief, or alone.
bool is_chief(cluster_spec const& spec, std::string const& task_type, int task_id);
/// "/job:chief/replica:0/task:0", else worker 0; "" when alone and for an evaluator.
std::string collective_leader(cluster_spec const& spec, std::string const& task_type, int task_id);
/// ps 0, else chief 0, else worker 0, in the same form; "" when alone.
std::string coordination_leader(cluster_spec const& spec);

/// Tasks that train: chief and workers. An evaluator counts evaluators (one when the spec leaves it
/// out). Any other type is invalid.
int worker_count(cluster_spec const& spec, std::string const& task_type);
/// Its place among those: the chief is 0, workers follow; an evaluator has its own index.
int id_in_cluster(cluster_spec const& spec, std::string const& task_type, int task_id);
/// Of one job; 0 when it is not there.
int task_count(cluster_spec const& spec, std::string_view task_type);

/// What a server of this task may know of: an evaluator only evaluators, all others everything
/// else, so that nothing is placed on an evaluator by mistake.
cluster_spec split_for_evaluator(cluster_spec const& spec, std::string_view task_type);

}  // namespace muster
