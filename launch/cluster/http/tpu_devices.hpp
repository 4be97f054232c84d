// How many TPU cores a host has: from names of devices, or from what the API says about a node.
// Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "muster/cluster_error.hpp"

namespace muster::cluster {

/// Cores by host, of names such as "/job:worker/replica:0/task:3/device:TPU:7".
struct tpu_devices {
  std::map<int, std::vector<int>> cores_of_host;
  int total = 0;

  /// invalid: hosts have different numbers of them. 0 when there are no TPUs.
  int per_host() const;
};

/// Other devices are left out.
tpu_devices find_tpu_devices(std::vector<std::string> const& names);

/// Cores of all hosts together: the number in a type such as "v3-32" or "v5litepod-16". invalid:
/// there is none; `origin` begins the line.
int cores_of_type(std::string const& type, std::string const& origin);
/// Of a topology such as "2x2x4" and its generation as the API writes it, "V4".
int cores_of_topology(std::string const& generation, std::string const& topology,
                      std::string const& origin);

/// invalid: they cannot be divided evenly among the hosts.
int cores_per_host(int cores, std::size_t hosts, std::string const& origin);

}  // namespace muster::cluster
