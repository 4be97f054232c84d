// TF_CONFIG: the cluster and this process's task, which TensorFlow's launchers set in the
// environment of each task.
//
// Errors are cluster_error with one line that names the field and the fix, for example "TF_CONFIG:
// task.index is -1; it must be 0 or greater".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "muster/cluster_resolver.hpp"
#include "muster/cluster_spec.hpp"

namespace muster {

struct tf_config {
  /// If empty, the program runs alone.
  muster::cluster_spec cluster;
  /// A number is converted to a string.
  std::optional<std::string> task_type;
  /// A string of digits is converted to a number.
  std::optional<int> task_index;
  /// An empty layer differs from a missing layer.
  std::optional<std::string> rpc_layer;
  std::optional<std::string> environment;
  std::optional<std::string> session_master;
  /// Whether the text contains `cluster`, and whether it contains a `task` that is not empty.
  bool has_cluster = false;
  bool has_task = false;

  /// Checks the type of each field. Ignores unknown keys.
  static tf_config parse(std::string_view text);
  /// Returns an empty configuration if TF_CONFIG is not set.
  static tf_config from(environment_lookup const& environment);

  /// Checks that the fields are consistent. The type of a task must be evaluator or a job of the
  /// cluster; its index must be an index of this job. There must be at most one chief.
  void check() const;
};

}  // namespace muster
