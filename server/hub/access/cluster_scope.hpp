// The clusters that a caller may see: all clusters, or only the clusters that its token allows.
// Immutable and thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/access/token.hpp"
#include "server/hub/log_event.hpp"

namespace muster::server {

class cluster_scope {
 public:
  cluster_scope() = default;  ///< all clusters
  /// `main` is the name of the server's own cluster, which is also called "default" and has an
  /// empty name in log events of hubs.
  cluster_scope(core::caller const& who, std::string_view main);

  bool whole() const { return clusters_.empty(); }
  /// An empty name stands for the main cluster.
  bool sees(std::string_view cluster) const;
  /// An event without a cluster is visible only to callers that may see all clusters.
  bool sees(log_event const& n) const;
  bool operator==(cluster_scope const&) const = default;

 private:
  std::vector<std::string> clusters_;  // sorted, unique; "" is the main cluster
  std::string main_;
};

using shared_scope = std::shared_ptr<cluster_scope const>;

}  // namespace muster::server
