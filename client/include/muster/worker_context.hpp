// Information about a worker function's task.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "muster/cluster_spec.hpp"
#include "muster/session_config.hpp"
#include "muster/worker_barrier.hpp"
#include "muster/worker_session.hpp"

namespace muster {

class strategy;

/// Options of a worker_context; set by run_distribute_coordinator.
struct worker_context_options {
  /// The configured strategy; can be null for an evaluator.
  muster::strategy const* strategy = nullptr;
  /// The cluster; empty outside a cluster.
  muster::cluster_spec cluster{};
  /// Task type; unset outside a cluster and for a function that runs for the whole cluster.
  std::optional<std::string> task_type{};
  /// Number of the task within its type; 0 if unset.
  std::optional<int> task_id{};
  /// Configuration of sessions.
  muster::session_config config{};
  /// Protocol of the servers.
  std::string rpc_layer = "grpc";
  /// Barrier shared by the worker functions in this process, or null.
  std::shared_ptr<worker_barrier> barrier{};
  /// Participant number of this function at the barrier.
  std::size_t participant = 0;
  /// Maximum time to wait at the barrier.
  std::chrono::milliseconds barrier_timeout{3'600'000};
  /// Token that is stopped when another task has failed.
  std::stop_token stop{};
  /// Muster server address for sessions; if empty, it is read from the environment variable
  /// MUSTER_COORDINATOR.
  std::string server{};
};

/// Information about the task for which a worker function runs.
///
/// @code
/// auto const& context = *muster::current_worker_context();
/// if (context.is_chief()) std::cout << context.num_workers();
/// @endcode
///
/// Each call of a worker function has its own context. The members wait_for_others and
/// stop_requested may be called from any thread while the function is running.
class worker_context {
 public:
  /// Constructs the context of a call. Used by run_distribute_coordinator.
  /// @param o  task, cluster and strategy
  /// @throws cluster_error  the cluster does not have this task, or the function runs for the whole
  ///   cluster and the cluster has neither a chief nor a worker
  explicit worker_context(worker_context_options o);

  /// Returns the target of the task. If the function runs for the whole cluster, returns the target
  /// of the chief or, without a chief, of worker 0. Empty outside a cluster and for an evaluator.
  std::string const& master_target() const { return master_target_; }
  /// Returns true for the chief, or for worker 0 if the cluster has no chief. Also returns true for
  /// evaluators, outside a cluster, and for a function that runs for the whole cluster.
  bool is_chief() const { return is_chief_; }
  /// Returns true in a cluster, except for evaluators.
  bool distributed_mode() const;
  /// Returns the number of chiefs and workers; 0 outside a cluster.
  int num_workers() const { return num_workers_; }

  /// Returns true if wait_for_others() waits for other functions.
  bool has_barrier() const { return options_.barrier != nullptr; }
  /// Waits until all chiefs and workers have called this function. If each task is a separate
  /// process, or there is no cluster, there is no barrier. This function then returns immediately,
  /// as in TensorFlow; if there are other tasks, the first call logs a warning.
  /// @throws barrier_error  another function has failed or returned, or the timeout has expired
  void wait_for_others();
  /// Returns true if another task has failed; the function should then return.
  bool stop_requested() const { return options_.stop.stop_requested(); }

  /// Returns strategy::should_init; false without a strategy.
  bool should_init() const;
  /// Returns strategy::should_checkpoint; false without a strategy.
  bool should_checkpoint() const;
  /// Returns strategy::should_save_summary; false without a strategy.
  bool should_save_summary() const;

  /// Returns the cluster; empty outside a cluster.
  muster::cluster_spec cluster_spec() const { return options_.cluster; }
  /// Returns the configuration of sessions.
  muster::session_config session_config() const { return options_.config; }
  /// Returns the task type; unset outside a cluster and for a function that runs for the whole
  /// cluster.
  std::optional<std::string> task_type() const { return options_.task_type; }
  /// Returns the task number within its type.
  std::optional<int> task_id() const { return options_.task_id; }

  /// Returns a creator of sessions. If the strategy's should_init returns true, or if there is no
  /// strategy, the creator prepares the job. Otherwise, it waits until the chief has prepared the
  /// job.
  /// @param s  functions that prepare the job
  /// @param config  session settings; the task's settings take precedence
  /// @param max_wait  maximum time to wait for the server and the chief together
  /// @param from  checkpoint from which to restore the job; can be empty
  session_creator make_session_creator(scaffold s = {},
                                       std::optional<muster::session_config> config = {},
                                       std::chrono::milliseconds max_wait = std::chrono::hours(2),
                                       checkpoint from = {}) const;

  /// Returns "[local]", or the cluster, type and number of the task.
  std::string describe() const;

 private:
  std::string find_master() const;

  worker_context_options options_;
  std::string master_target_;
  bool is_chief_ = false;
  int num_workers_ = 0;
  std::atomic<bool> warned_ = false;
};

/// Returns the context of the worker function that this thread runs, or null outside a worker
/// function.
worker_context* current_worker_context();

/// Sets this thread's current worker context while this object exists.
class worker_context_scope {
 public:
  /// Sets the current context.
  /// @param c  the context
  /// @throws cluster_error  invalid: this thread already runs a worker function
  explicit worker_context_scope(worker_context& c);
  ~worker_context_scope();
  worker_context_scope(worker_context_scope const&) = delete;
};

}  // namespace muster
