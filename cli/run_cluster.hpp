// Finds the cluster of a `muster run`. Errors become a command_error with exit status 2.
#pragma once

#include <optional>
#include <string>

#include "muster/cluster_spec.hpp"

namespace muster::cli {

struct run_sources {
  std::optional<int> nproc;
  std::string cluster_from, cluster_file;
  std::string task;
};

struct run_cluster {
  cluster_spec spec;  // if empty, `nproc` workers run on this machine, on free ports
  int nproc = 1;
  /// Set if the source specifies the task of this process.
  std::optional<std::string> task_type{};
  std::optional<int> task_index{};
  std::optional<std::string> rpc_layer{}, environment{};
  std::string origin;  // name of the source for errors, such as "TF_CONFIG"
};

/// Returns the cluster from the flags, otherwise from TF_CONFIG, otherwise one local worker. Checks
/// that the cluster is valid and contains the task.
run_cluster find_cluster(run_sources const& sources);

cluster_spec local_workers(std::vector<int> const& ports);

}  // namespace muster::cli
