// What run_distribute_coordinator asks of a way to distribute training. Users derive from it.
//
// The object given to run_distribute_coordinator is only read; every worker function gets a copy
// that was configured for its task, used by the thread of that function.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "muster/cluster_resolver.hpp"
#include "muster/cluster_spec.hpp"
#include "muster/session_config.hpp"

namespace muster {

class standard_server;

class strategy {
 public:
  virtual ~strategy() = default;

  /// One like it, for another worker.
  virtual std::unique_ptr<strategy> copy() const = 0;
  /// May change both itself and the configuration. An evaluator, and a program that is alone, get
  /// no cluster, type and id; a worker function for the whole cluster no type and id.
  virtual void configure(session_config& config, cluster_spec const* cluster,
                         std::optional<std::string> const& task_type,
                         std::optional<int> task_id) = 0;

  /// The worker function runs once for each chief and worker; else once for the whole cluster.
  virtual bool between_graph() const { return true; }

  // Of a configured copy.
  virtual bool should_init() const { return true; }
  /// Whether this worker writes checkpoints.
  virtual bool should_checkpoint() const { return true; }
  /// Whether this worker writes summaries.
  virtual bool should_save_summary() const { return true; }

  /// The server of this process, if the strategy has started it; none other is started then.
  virtual std::shared_ptr<standard_server> running_server() const { return {}; }
  /// Asked when neither options nor TF_CONFIG describe a cluster.
  virtual std::shared_ptr<cluster_resolver> resolver() const { return {}; }
};

}  // namespace muster
