// What a worker function may ask about the task it runs for.
//
//   auto& context = *muster::current_worker_context();
//   if (context.is_chief()) …
//
// There is one for each call of a worker function, on the thread of that call; wait_for_others and
// stop_requested may be called from any thread as long as the call lasts.
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

struct worker_context_options {
  muster::strategy const* strategy = nullptr;  // configured; may be none for an evaluator
  muster::cluster_spec cluster{};              // empty: alone
  /// None: alone, or for the whole cluster.
  std::optional<std::string> task_type{};
  std::optional<int> task_id{};  // a type without one means task 0
  muster::session_config config{};
  std::string rpc_layer = "grpc";
  std::shared_ptr<worker_barrier> barrier{};
  std::size_t participant = 0;  // of the barrier
  std::chrono::milliseconds barrier_timeout{3'600'000};
  std::stop_token stop{};
  std::string server{};  // of sessions; empty: MUSTER_COORDINATOR
};

class worker_context {
 public:
  /// Errors: cluster_error: the cluster has no such task; for the whole cluster, it has neither
  /// chief nor worker.
  explicit worker_context(worker_context_options o);

  /// Of the own task; for the whole cluster, of the chief or else worker 0; "" when alone and for
  /// an evaluator.
  std::string const& master_target() const { return master_target_; }
  bool is_chief() const { return is_chief_; }
  /// In a cluster, and no evaluator.
  bool distributed_mode() const;
  /// Chief and workers; 0 when alone.
  int num_workers() const { return num_workers_; }

  bool has_barrier() const { return options_.barrier != nullptr; }
  /// Until all chiefs and workers have come. Without a barrier, where each task is a process of its
  /// own or runs alone, it returns at once as TensorFlow's does; the first time, if there are
  /// others, a line of the log says so. Errors: barrier_error, also when another one has failed or
  /// has returned.
  void wait_for_others();
  /// Another task has failed: it is time to return.
  bool stop_requested() const { return options_.stop.stop_requested(); }

  // Of the strategy; false without one.
  bool should_init() const;
  bool should_checkpoint() const;
  bool should_save_summary() const;

  muster::cluster_spec cluster_spec() const { return options_.cluster; }
  muster::session_config session_config() const { return options_.config; }
  std::optional<std::string> task_type() const { return options_.task_type; }
  std::optional<int> task_id() const { return options_.task_id; }

  /// The own configuration wins over `config`. It prepares the job if should_init, or without a
  /// strategy, from the checkpoint where one is named; else it waits for whoever does.
  session_creator make_session_creator(scaffold s = {},
                                       std::optional<muster::session_config> config = {},
                                       std::chrono::milliseconds max_wait = std::chrono::hours(2),
                                       checkpoint from = {}) const;

  /// "[local]", or the cluster, type and id.
  std::string describe() const;

 private:
  std::string find_master() const;

  worker_context_options options_;
  std::string master_target_;
  bool is_chief_ = false;
  int num_workers_ = 0;
  std::atomic<bool> warned_ = false;
};

/// Of the worker function that this thread runs; null outside of one.
worker_context* current_worker_context();

/// Makes it the current one for a scope.
class worker_context_scope {
 public:
  /// Errors: cluster_error, invalid: this thread is in a worker function already.
  explicit worker_context_scope(worker_context& c);
  ~worker_context_scope();
  worker_context_scope(worker_context_scope const&) = delete;
};

}  // namespace muster
