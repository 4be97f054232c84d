// Rules that apply both to cluster_rules.hpp and to TF_CONFIG, with the caller's field names.
#pragma once

#include <optional>
#include <string>

#include "muster/cluster_spec.hpp"

namespace muster::cluster {

/// Checks that there is at most one chief and one evaluator. In errors, `prefix` precedes the job
/// name.
void check_single(cluster_spec const& spec, std::string const& prefix);

struct task_fields {
  std::string type;
  std::string index;
};
void check_task(cluster_spec const& spec, std::optional<std::string> const& type,
                std::optional<int> index, task_fields const& names);

}  // namespace muster::cluster
