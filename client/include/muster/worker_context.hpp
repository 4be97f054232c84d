// Information for a worker function about its task.
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
  /// Type of the task; unset outside a cluster, and for the whole cluster.
  std::optional<std::string> task_type{};
  /// Number of the task within its type; unset: 0.
  std::optional<int> task_id{};
  /// Configuration of sessions.
  muster::session_config config{};
  /// Protocol of the servers.
  std::string rpc_layer = "grpc";
  /// Barrier of the worker functions in this process; null if there is none.
  std::shared_ptr<worker_barrier> barrier{};
  /// Number of this function at the barrier.
  std::size_t participant = 0;
  /// Longest wait at the barrier.
  std::chrono::milliseconds barrier_timeout{3'600'000};
  /// A stop is requested when another task has failed.
  std::stop_token stop{};
  /// Address of the Muster server for sessions. Empty: the environment variable MUSTER_COORDINATOR.
  std::string server{};
};

/// Information for a worker function about the task that it runs for.
///
/// @code
/// auto const& context = *muster::current_worker_context();
/// if (context.is_chief()) std::cout << context.num_workers();
/// @endcode
///
/// Each call of a worker function has a context, on the thread of the call. wait_for_others and
/// stop_requested may be called from any thread while the function runs.
class worker_context {
 public:
  /// Constructs the context of a call; used by run_distribute_coordinator.
  /// @param o  the task, the cluster and the strategy
  /// @throws cluster_error  the cluster has no such task, or neither a chief nor a worker if the
  ///   function runs for the whole cluster
  explicit worker_context(worker_context_options o);

  /// Returns the target of the task. For the whole cluster it is the target of the chief, or else
  /// of worker 0. Empty outside a cluster and for an evaluator.
  std::string const& master_target() const { return master_target_; }
  /// Returns true for the chief, or for worker 0 if there is none. Also true for evaluators,
  /// outside a cluster, and for a function that runs for the whole cluster.
  bool is_chief() const { return is_chief_; }
  /// Returns true in a cluster, except for evaluators.
  bool distributed_mode() const;
  /// Returns the number of chiefs and workers; 0 outside a cluster.
  int num_workers() const { return num_workers_; }

  /// Returns true if wait_for_others() waits for other functions.
  bool has_barrier() const { return options_.barrier != nullptr; }
  /// Waits until all chiefs and workers have called it. Without a barrier (each task is its own
  /// process, or there is no cluster) it returns at once, as in TensorFlow. If there are other
  /// tasks, it then logs a warning the first time.
  /// @throws barrier_error  another function has failed or returned, or the time limit has passed
  void wait_for_others();
  /// Returns true if another task has failed; the function should return.
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
  /// Returns the type of the task; unset outside a cluster, and for the whole cluster.
  std::optional<std::string> task_type() const { return options_.task_type; }
  /// Returns the number of the task within its type.
  std::optional<int> task_id() const { return options_.task_id; }

  /// Returns a creator of sessions. It prepares the job if the strategy's should_init returns true,
  /// or without a strategy; otherwise it waits until the chief has done so.
  /// @param s  functions that prepare the job
  /// @param config  settings of the session; those of the task take precedence
  /// @param max_wait  the longest wait for the server and for the chief together
  /// @param from  checkpoint from which the job is restored; may be empty
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

/// Returns the context of the worker function that this thread runs; null outside a worker
/// function.
worker_context* current_worker_context();

/// Makes a context the current one of this thread while this object exists.
class worker_context_scope {
 public:
  /// Makes the context current.
  /// @param c  the context
  /// @throws cluster_error  invalid: this thread already runs a worker function
  explicit worker_context_scope(worker_context& c);
  ~worker_context_scope();
  worker_context_scope(worker_context_scope const&) = delete;
};

}  // namespace muster
