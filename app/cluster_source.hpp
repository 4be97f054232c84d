// A cluster whose tasks come from a resolver: `muster serve --cluster-from`. Plain data.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "muster/cluster_resolver.hpp"
#include "server/core/coordination/api/declared_cluster.hpp"

namespace muster::server {

struct cluster_source {
  std::string text;
  /// Used by one thread at a time.
  std::shared_ptr<cluster_resolver> resolver;
  core::coordination::cluster_spec declaration;
  std::vector<std::string> recoverable_jobs;
  core::duration every = std::chrono::seconds(30);
  /// How long startup waits for the first answer.
  core::duration timeout = std::chrono::minutes(2);
};

}  // namespace muster::server
