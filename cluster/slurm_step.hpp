// How the ranks of a Slurm step are laid over its hosts.
#pragma once

#include <string>
#include <vector>

#include "muster/slurm_resolver.hpp"

namespace muster {

struct slurm_resolver::step {
  struct place {
    std::size_t host = 0;
    int local = 0;  // its place among the tasks of the host
  };

  std::vector<std::string> hosts;
  std::vector<int> tasks_of_host;
  int rank = 0;               // of this process
  std::vector<place> places;  // by rank

  int tasks() const { return static_cast<int>(places.size()); }
  int most_tasks_of_a_host() const;
};

namespace cluster {

/// missing, invalid: as slurm_resolver::cluster_spec.
slurm_resolver::step read_slurm_step(environment_lookup const& environment,
                                     std::optional<std::string> const& tasks_per_node);

}  // namespace cluster
}  // namespace muster
