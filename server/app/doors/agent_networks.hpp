// --agents-from: networks whose agents are let in without a token, of all clusters and of some.
// Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/hub/access/networks.hpp"

namespace muster::server {

class agent_networks {
 public:
  /// Words NET, and CLUSTER=NET or CLUSTER= of clusters that have their own, at most 64 of each.
  /// INVALID_ARGUMENT in one line.
  static muster::result<agent_networks> from(std::vector<std::string> const& words);

  /// What counts for this cluster: its own, where it is named, else those of all.
  std::vector<network> const& of(std::string_view cluster) const;

 private:
  std::vector<network> all_;
  std::map<std::string, std::vector<network>, std::less<>> own_;
};

}  // namespace muster::server
