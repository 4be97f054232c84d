// Tasks of a Slurm step, from the variables that srun sets for each task: SLURM_PROCID,
// SLURM_STEP_NUM_TASKS, SLURM_STEP_NODELIST and SLURM_STEP_TASKS_PER_NODE. SLURM_DISTRIBUTION
// determines on which nodes the ranks run (block if not set).
//
// Addresses are host:port; the ports on each host count up from port_base. Ranks are assigned to
// jobs in alphabetical order of the job names. Hosts keep the order of the node list.
#pragma once

#include <functional>
#include <vector>

#include "muster/cluster_resolver.hpp"

namespace muster {

class slurm_resolver : public cluster_resolver {
 public:
  static constexpr std::size_t hosts_max = 100'000;

  struct options {
    /// Number of tasks of each job. If empty, all tasks are workers.
    std::map<std::string, int> jobs = {};
    int port_base = 8888;
    /// Number of GPUs on each node. If not set, CUDA_VISIBLE_DEVICES or the driver determines the
    /// GPUs.
    std::optional<int> gpus_per_node = {};
    /// Number of GPUs for each task; can be 0. If not set, a node's GPUs are divided by the largest
    /// number of tasks on a node.
    std::optional<int> gpus_per_task = {};
    /// Replaces SLURM_STEP_TASKS_PER_NODE, with the same syntax: "3(x2),2,1". A single number
    /// applies to each node.
    std::optional<std::string> tasks_per_node = {};
    std::optional<std::string> rpc_layer = {};
    std::function<int()> count_gpus = {};
  };

  slurm_resolver(environment_lookup environment, options o);
  explicit slurm_resolver(environment_lookup environment = process_environment())
      : slurm_resolver(std::move(environment), {}) {}

  /// @throws cluster_error with code missing if the variables are not set because this is not a
  ///   Slurm step, or invalid if the variables or the options contradict each other
  muster::cluster_spec cluster_spec() override;
  /// Returns {"GPU", gpus_per_task}, or nothing if gpus_per_task is 0.
  std::map<std::string, int> num_accelerators(std::optional<std::string> type = {},
                                              std::optional<int> id = {}) override;

  using cluster_resolver::task_id;
  using cluster_resolver::task_type;
  std::optional<std::string> task_type() override {
    return task_type_ ? task_type_ : own_task().first;
  }
  std::optional<int> task_id() override { return task_id_ ? task_id_ : own_task().second; }

  /// Returns the GPUs of this task in the format of CUDA_VISIBLE_DEVICES: for example "2,3", or "".
  /// The program must set the variable before it loads CUDA.
  std::string visible_gpus();

  struct step;

 private:
  step read() const;
  int gpus_per_task(step const& s) const;
  std::pair<std::string, int> own_task() const;

  environment_lookup const environment_lookup_;
  options const options_;
};

/// Expands "n[1-2,05-07],m5" to n1 n2 n05 n06 n07 m5. Keeps leading zeros. Several brackets expand
/// to all combinations.
/// @param text list of hosts, such as the value of SLURM_JOB_NODELIST
/// @param origin the variable name in error messages
/// @param hosts_max maximum number of hosts
/// @throws cluster_error (invalid) if the text is malformed, a host occurs twice, or there are more
///   than `hosts_max` hosts
std::vector<std::string> expand_hostlist(std::string_view text, std::string const& origin,
                                         std::size_t hosts_max = slurm_resolver::hosts_max);
/// Expands "3(x2),2,1" to 3 3 2 1.
/// @throws cluster_error (invalid) if the text is malformed or contains a 0, or there are more than
///   `hosts_max` entries
std::vector<int> expand_task_counts(std::string_view text, std::string const& origin,
                                    std::size_t hosts_max = slurm_resolver::hosts_max);

}  // namespace muster
