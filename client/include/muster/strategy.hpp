// The interface between run_distribute_coordinator and a strategy for distributed training.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "muster/cluster_resolver.hpp"
#include "muster/cluster_spec.hpp"
#include "muster/session_config.hpp"

namespace muster {

class standard_server;

/// A strategy for distributed training; users derive from this class. The function
/// run_distribute_coordinator does not modify the object that it receives. Each worker function
/// uses its own copy, configured for its task, on its own thread.
class strategy {
 public:
  virtual ~strategy() = default;

  /// Returns an unconfigured copy for another worker.
  virtual std::unique_ptr<strategy> copy() const = 0;
  /// Configures the strategy for a task. Can modify this object and the session configuration.
  /// @param config  configuration of the session or server
  /// @param cluster  null for an evaluator and outside a cluster
  /// @param task_type  task type; unset for an evaluator, outside a cluster, and for a worker
  ///   function that runs once for the whole cluster
  /// @param task_id  task number; unset if task_type is unset
  virtual void configure(session_config& config, cluster_spec const* cluster,
                         std::optional<std::string> const& task_type,
                         std::optional<int> task_id) = 0;

  /// Returns true if the worker function runs once per chief and worker, false if it runs once for
  /// the whole cluster.
  virtual bool between_graph() const { return true; }

  /// Returns true if this worker initialises the job. Called on a configured copy.
  virtual bool should_init() const { return true; }
  /// Returns true if this worker writes checkpoints. Called on a configured copy.
  virtual bool should_checkpoint() const { return true; }
  /// Returns true if this worker writes summaries. Called on a configured copy.
  virtual bool should_save_summary() const { return true; }

  /// Returns this process's server if the strategy has already started it; otherwise null.
  virtual std::shared_ptr<standard_server> running_server() const { return {}; }
  /// Returns the resolver to use if neither the options nor TF_CONFIG describe a cluster.
  virtual std::shared_ptr<cluster_resolver> resolver() const { return {}; }
};

}  // namespace muster
