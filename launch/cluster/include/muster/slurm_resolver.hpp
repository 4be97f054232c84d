// The tasks of a Slurm step, from the variables that srun gives to each: SLURM_PROCID,
// SLURM_STEP_NUM_TASKS, SLURM_STEP_NODELIST and SLURM_STEP_TASKS_PER_NODE; SLURM_DISTRIBUTION says
// how ranks are laid over the nodes (block when it is not there).
//
// Addresses are host:port, the ports of one host counted up from port_base. Ranks are given to jobs
// in the order of the jobs' names. Hosts stay in the order of the node list, which is that of the
// ranks.
#pragma once

#include <functional>
#include <vector>

#include "muster/cluster_resolver.hpp"

namespace muster {

class slurm_resolver : public cluster_resolver {
 public:
  /// Hosts of a node list; more is invalid.
  static constexpr std::size_t hosts_max = 100'000;

  struct options {
    /// Tasks of each job; none: all are workers.
    std::map<std::string, int> jobs = {};
    int port_base = 8888;
    /// Unset: the entries of CUDA_VISIBLE_DEVICES, else the GPUs that the driver lists.
    std::optional<int> gpus_per_node = {};
    /// Unset: those of a node divided by the most tasks of a node. 0 is fine.
    std::optional<int> gpus_per_task = {};
    /// In place of SLURM_STEP_TASKS_PER_NODE, in its form: "3(x2),2,1"; a single number is for each
    /// node.
    std::optional<std::string> tasks_per_node = {};
    std::optional<std::string> rpc_layer = {};
    /// How many GPUs the driver lists; replaced by tests.
    std::function<int()> count_gpus = {};
  };

  slurm_resolver(environment_lookup environment, options o);
  explicit slurm_resolver(environment_lookup environment = process_environment())
      : slurm_resolver(std::move(environment), {}) {}

  /// missing: no such variables, so this is no Slurm step; invalid: they or the options contradict
  /// each other.
  muster::cluster_spec cluster_spec() override;
  /// {"GPU", gpus_per_task}; none when that is 0.
  std::map<std::string, int> num_accelerators(std::optional<std::string> type = {},
                                              std::optional<int> id = {}) override;

  using cluster_resolver::task_id;
  using cluster_resolver::task_type;
  std::optional<std::string> task_type() override {
    return task_type_ ? task_type_ : own_task().first;
  }
  std::optional<int> task_id() override { return task_id_ ? task_id_ : own_task().second; }

  /// The GPUs that are this task's own, as CUDA_VISIBLE_DEVICES writes them: "2,3"; empty when it
  /// has none. Nothing is set: that is the program's, before it loads CUDA.
  std::string visible_gpus();

  struct step;

 private:
  step read() const;
  int gpus_per_task(step const& s) const;
  std::pair<std::string, int> own_task() const;

  environment_lookup const environment_lookup_;
  options const options_;
};

/// "n[1-2,05-07],m5" as n1 n2 n05 n06 n07 m5: zeros are kept, several brackets are multiplied out.
/// invalid: anything else, a host that is there twice, or more than `hosts_max`. `origin` names the
/// variable in the line.
std::vector<std::string> expand_hostlist(std::string_view text, std::string const& origin,
                                         std::size_t hosts_max = slurm_resolver::hosts_max);
/// "3(x2),2,1" as 3 3 2 1. invalid: anything else, a 0, or more than `hosts_max` entries.
std::vector<int> expand_task_counts(std::string_view text, std::string const& origin,
                                    std::size_t hosts_max = slurm_resolver::hosts_max);

}  // namespace muster
