// TF_CONFIG: what TensorFlow's launchers put into the environment of each task: the cluster, and
// which task of it this process is.
//
// Plain data. Every fault is a cluster_error with one line that names the field and the fix, e.g.
// "TF_CONFIG: task.index is -1; write a number from 0".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "muster/cluster_resolver.hpp"
#include "muster/cluster_spec.hpp"

namespace muster {

struct tf_config {
  /// Empty: the program is alone.
  muster::cluster_spec cluster;
  /// Unset: not said. A number in the text is taken as its digits.
  std::optional<std::string> task_type;
  /// Unset: not said. A text of digits is taken as the number.
  std::optional<int> task_index;
  /// Of these an empty text is one, and differs from none.
  std::optional<std::string> rpc_layer;
  std::optional<std::string> environment;
  /// Wins over the address of any task.
  std::optional<std::string> session_master;
  /// Whether the text has the key at all, and a `task` with anything in it.
  bool has_cluster = false;
  bool has_task = false;

  /// Reads the text and checks the form of each field; other keys are allowed and ignored.
  static tf_config parse(std::string_view text);
  /// The variable TF_CONFIG, parsed; nothing is set when it is not there.
  static tf_config from(environment_lookup const& environment);

  /// Checks what the fields say together: a task has a type, which is a job of the cluster (but an
  /// evaluator need not be in it), its index is one of the job's, and there is one chief at most.
  void check() const;
};

}  // namespace muster
