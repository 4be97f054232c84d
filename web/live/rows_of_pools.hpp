// The tasks and jobs of all clusters in scope, as the topics show them: `cluster` is empty in
// those of the main one. Engine thread.
#pragma once

#include <optional>
#include <vector>

#include "server/hub/access/cluster_scope.hpp"
#include "server/hub/pools.hpp"

namespace muster::web {

/// Where a listing of tasks goes on: in which of the pools, and at which of its rows.
struct task_place {
  std::size_t pool = 0, row = 0;
};
struct task_page {
  std::vector<core::task_view> rows;
  std::optional<task_place> next;
};

/// At most 1,000 rows, so that the engine is never held up for long.
task_page tasks_from(server::pools& all, task_place from, server::cluster_scope const& scope);

/// Those that run, that ended and that failed lately, of each cluster; newest first.
std::vector<core::job_view> watched_jobs(server::pools& all, server::cluster_scope const& scope);

}  // namespace muster::web
