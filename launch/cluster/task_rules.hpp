// The rules of cluster_rules.hpp that TF_CONFIG is checked by too, with the caller's own names for
// the fields.
#pragma once

#include <optional>
#include <string>

#include "muster/cluster_spec.hpp"

namespace muster::cluster {

/// One chief and one evaluator at most. `prefix` stands before the name of the job.
void check_single(cluster_spec const& spec, std::string const& prefix);

struct task_fields {
  std::string type;
  std::string index;
};
/// The type is a job of the spec, unless it is evaluator or the spec is empty; the index is there.
void check_task(cluster_spec const& spec, std::optional<std::string> const& type,
                std::optional<int> index, task_fields const& names);

}  // namespace muster::cluster
