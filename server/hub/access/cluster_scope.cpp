// All names of the main cluster are mapped to the empty name.
#include "server/hub/access/cluster_scope.hpp"

#include <algorithm>

namespace muster::server {

namespace {
std::string_view without_main(std::string_view cluster, std::string_view main) {
  return cluster == main || cluster == "default" ? std::string_view() : cluster;
}

// Returns whether an event is about workers or jobs. These events have no cluster name if they
// occur in the main cluster.
bool is_about_work(std::string_view kind) {
  for (std::string_view const prefix : {"worker_", "task_", "job_", "session_", "closure_",
                                        "dependency_", "values_", "no_progress"})
    if (kind.starts_with(prefix)) return true;
  return false;
}
}  // namespace

cluster_scope::cluster_scope(core::caller const& who, std::string_view main) : main_(main) {
  if (!who) return;
  for (auto const& c : who->clusters) clusters_.emplace_back(without_main(c, main));
  std::sort(clusters_.begin(), clusters_.end());
  clusters_.erase(std::unique(clusters_.begin(), clusters_.end()), clusters_.end());
}

bool cluster_scope::sees(std::string_view cluster) const {
  return whole() || std::binary_search(clusters_.begin(), clusters_.end(),
                                       without_main(cluster, main_), std::less<>());
}

bool cluster_scope::sees(log_event const& n) const {
  if (whole()) return true;
  return sees(n.cluster) && (!n.cluster.empty() || is_about_work(n.kind));
}

}  // namespace muster::server
