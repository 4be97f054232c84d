// Pods as the Kubernetes API lists them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cluster/http/api_client.hpp"

namespace muster::cluster {

/// Pods asked for at once, and the pages of one listing.
constexpr int pods_of_a_page = 500;
constexpr int pod_pages_max = 2000;

struct kubernetes_pod {
  std::string name_space, name, phase, pod_ip, host_ip;
  bool ending = false;        // it is being deleted
  std::string hostname = {};  // empty: its name
  /// {"GPU", 8} of a container limited to nvidia.com/gpu: 8.
  std::map<std::string, int> accelerators = {};
};

/// All that have the labels, in the API's order. `name_space` "*": of all. missing and invalid: an
/// answer that is not as documented, or more pods than a cluster may have; else as api_client.
std::vector<kubernetes_pod> list_kubernetes_pods(api_client& api, std::string const& server,
                                                 std::string const& name_space,
                                                 std::string const& selector);

}  // namespace muster::cluster
