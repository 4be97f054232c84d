// Runs a function on the tasks of a cluster, like TensorFlow's distribute coordinator.
#pragma once

#include <any>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "muster/cluster_resolver.hpp"
#include "muster/cluster_spec.hpp"
#include "muster/session_config.hpp"
#include "muster/standard_server.hpp"
#include "muster/strategy.hpp"
#include "muster/worker_context.hpp"

namespace muster {

/// Selects the processes that run the worker function.
enum class coordinator_mode {
  /// One process runs the worker functions of all tasks; all other processes run standard servers.
  standalone_client,
  /// Every task runs the worker function, with its own server.
  independent_worker,
};
/// Parses "standalone_client" or "independent_worker".
/// @param text  the name
/// @throws cluster_error  invalid: any other text
coordinator_mode parse_coordinator_mode(std::string_view text);
/// Returns the name that parse_coordinator_mode accepts.
/// @param mode  the mode
std::string_view to_string(coordinator_mode mode);

/// A callable f(strategy*), f(strategy&) or f() with any result. The strategy is null when an
/// evaluator runs without a strategy.
class worker_function {
 public:
  /// Constructs an empty function.
  worker_function() = default;
  /// Stores a callable.
  /// @param f  must be copyable
  template <class F>
  requires(!std::is_same_v<std::decay_t<F>, worker_function>)
      worker_function(F f)  // NOLINT: implicit, so that lambdas can be passed
      : call_([f = std::move(f)](strategy* s) mutable -> std::any {
          auto const invoke = [&]() -> decltype(auto) {
            if constexpr (std::is_invocable_v<F&, strategy*>)
              return f(s);
            else
              return f();
          };
          if constexpr (std::is_void_v<decltype(invoke())>) {
            invoke();
            return {};
          } else {
            return std::any(invoke());
          }
        }) {}

  /// Returns false if the function is empty.
  explicit operator bool() const { return static_cast<bool>(call_); }
  /// Calls the function.
  /// @param s  the strategy, or null
  /// @return the result; empty for void
  std::any operator()(strategy* s) const { return call_(s); }

 private:
  std::function<std::any(strategy*)> call_;
};

/// Options of run_distribute_coordinator.
struct distribute_options {
  /// Function for evaluators. If empty, evaluators run the worker function.
  worker_function eval_fn{};
  /// Strategy for evaluators. If null, evaluators run without a strategy.
  strategy const* eval_strategy = nullptr;
  /// Selects the processes that run the worker function.
  coordinator_mode mode = coordinator_mode::standalone_client;
  /// The cluster. If set and not empty, replaces the cluster and task of TF_CONFIG.
  std::optional<muster::cluster_spec> cluster{};
  /// Type of this process's task, for example "worker".
  std::optional<std::string> task_type{};
  /// Number of this process's task within its type.
  std::optional<int> task_id{};
  /// Configuration of sessions; if unset, session_config::default_config().
  std::optional<muster::session_config> session_config{};
  /// Protocol of the servers. TF_CONFIG takes precedence.
  std::string rpc_layer = "grpc";

  /// Creates the servers of tasks.
  standard_server_factory servers = worker_servers();
  /// Muster server address for sessions of worker functions. If empty, it is read from the
  /// environment variable MUSTER_COORDINATOR.
  std::string server{};
  /// Maximum time that worker_context::wait_for_others() waits.
  std::chrono::milliseconds barrier_timeout{3'600'000};
  /// Time for the other tasks to return after one task has failed.
  std::chrono::milliseconds stop_grace{120'000};
  /// Looks up environment variables.
  environment_lookup environment = process_environment();
};

/// Runs the worker function for the tasks of a cluster.
///
/// @code
/// struct my_strategy : muster::strategy {
///   std::unique_ptr<muster::strategy> copy() const override {
///     return std::make_unique<my_strategy>(*this);
///   }
///   void configure(muster::session_config&, muster::cluster_spec const*,
///                  std::optional<std::string> const&, std::optional<int>) override {}
/// };
///
/// int main() {
///   muster::run_distribute_coordinator(
///       [](muster::strategy*) { std::cout << muster::current_worker_context()->describe(); },
///       my_strategy(), {.mode = muster::coordinator_mode::independent_worker});
/// }
/// @endcode
///
/// The task of this process is determined by the options, by TF_CONFIG (which `muster run` sets) or
/// by the strategy's resolver. If the task only runs a server, the function returns when the server
/// has stopped. See docs/distribute-coordinator.md for the modes.
/// @param worker_fn  the worker function; its first exception is rethrown
/// @param strategy  not modified; each worker function receives a configured copy
/// @param options  mode, cluster and timeouts
/// @return the worker function's result if it ran once, on the calling thread, in a cluster;
///   otherwise empty
/// @throws cluster_error  the cluster or the task is invalid; nothing was started
std::any run_distribute_coordinator(worker_function worker_fn, strategy const& strategy,
                                    distribute_options options = {});

/// Options of run_standard_server.
struct standard_server_options {
  /// Configuration of the server; empty if unset.
  std::optional<session_config> session{};
  /// Creates the server.
  standard_server_factory servers = worker_servers();
  /// Looks up environment variables.
  environment_lookup environment = process_environment();
};
/// Starts the server of the task that TF_CONFIG describes. Each thread can have only one server;
/// see end_standard_server_of_this_thread.
/// @param options  the configuration and the factory
/// @return the started server
/// @throws cluster_error  a part of TF_CONFIG is missing
std::shared_ptr<standard_server> run_standard_server(standard_server_options options = {});

/// Runs the server of the resolver's task, a worker or a parameter server, until the server ends.
/// @param resolver  describes the cluster and the task
/// @param protocol  server protocol; if empty, the resolver's protocol
/// @param servers  creates the server
/// @throws cluster_error  invalid: the task is neither a worker nor a ps
void start_server(cluster_resolver& resolver, std::string const& protocol = {},
                  standard_server_factory const& servers = worker_servers());

/// Stops this thread's server. Until then, starting a server with the same arguments returns the
/// existing server, and other arguments are rejected with cluster_error (invalid).
void end_standard_server_of_this_thread();

}  // namespace muster
