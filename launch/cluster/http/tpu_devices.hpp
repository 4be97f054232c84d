// Pure functions for the number of TPU cores of a host, from device names or the API's description
// of a node. Error messages begin with `origin`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "muster/cluster_error.hpp"

namespace muster::cluster {

/// Cores of each host, from names such as "/job:worker/replica:0/task:3/device:TPU:7".
struct tpu_devices {
  std::map<int, std::vector<int>> cores_of_host;
  int total = 0;

  /// Returns 0 if there are no TPUs.
  /// @throws cluster_error (invalid) if hosts have different numbers
  int per_host() const;
};

tpu_devices find_tpu_devices(std::vector<std::string> const& names);

/// Returns the total number of cores of all hosts: the number in a type such as "v3-32" or
/// "v5litepod-16".
/// @throws cluster_error (invalid) if there is no number
int cores_of_type(std::string const& type, std::string const& origin);
/// Returns the number of cores of a topology such as "2x2x4". `generation` has the API's form, for
/// example "V4".
int cores_of_topology(std::string const& generation, std::string const& topology,
                      std::string const& origin);

/// @throws cluster_error (invalid) if the cores cannot be divided evenly among the hosts
int cores_per_host(int cores, std::size_t hosts, std::string const& origin);

}  // namespace muster::cluster
