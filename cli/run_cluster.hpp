// Where `muster run` learns which cluster it is part of. Each source's fault becomes a
// command_error with exit status 2.
#pragma once

#include <optional>
#include <string>

#include "muster/cluster_spec.hpp"

namespace muster::cli {

struct run_sources {
  std::optional<int> nproc;
  std::string cluster_from, cluster_file;
  std::string task;  // "worker:3"
};

struct run_cluster {
  cluster_spec spec;  // empty: so many workers on this machine, with ports of their own
  int nproc = 1;
  /// Which task this process is, if the source says so.
  std::optional<std::string> task_type{};
  std::optional<int> task_index{};
  std::optional<std::string> rpc_layer{}, environment{};
  std::string origin;  // "TF_CONFIG", to be named in errors
};

/// The flags, else TF_CONFIG, else one local worker. The cluster is checked, and that it has the
/// task.
run_cluster find_cluster(run_sources const& sources);

/// Workers of this machine, one for each port.
cluster_spec local_workers(std::vector<int> const& ports);

}  // namespace muster::cli
