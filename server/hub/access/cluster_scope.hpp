// Which clusters somebody may look at: all, or those that a token is bound to. Immutable, so that
// the threads that ask for somebody can share it. Any thread.
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
  cluster_scope() = default;  ///< all of them
  /// `main`: the name of the server's own cluster, which is also called "default" and, in what the
  /// hubs tell, nothing.
  cluster_scope(core::caller const& who, std::string_view main);

  /// Whether it is bound to no cluster.
  bool whole() const { return clusters_.empty(); }
  /// Whether things of this cluster may be shown; empty: of the main one.
  bool sees(std::string_view cluster) const;
  /// What is about no cluster is for those who see the whole server.
  bool sees(log_event const& n) const;
  bool operator==(cluster_scope const&) const = default;

 private:
  std::vector<std::string> clusters_;  // sorted, each once; the main one is ""
  std::string main_;
};

using shared_scope = std::shared_ptr<cluster_scope const>;

}  // namespace muster::server
