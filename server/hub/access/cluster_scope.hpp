// The clusters that a caller may see: all, or those that its token is restricted to. Immutable, so
// threads can share it. Any thread.
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
  /// `main`: the name of the server's own cluster. It is also called "default"; log events of hubs
  /// leave its name empty.
  cluster_scope(core::caller const& who, std::string_view main);

  /// Returns whether all clusters are visible.
  bool whole() const { return clusters_.empty(); }
  /// Returns whether the cluster is visible; an empty name means the main cluster.
  bool sees(std::string_view cluster) const;
  /// Returns whether the event is visible. Events without a cluster need access to the whole
  /// server.
  bool sees(log_event const& n) const;
  bool operator==(cluster_scope const&) const = default;

 private:
  std::vector<std::string> clusters_;  // sorted and unique; "" is the main cluster
  std::string main_;
};

using shared_scope = std::shared_ptr<cluster_scope const>;

}  // namespace muster::server
