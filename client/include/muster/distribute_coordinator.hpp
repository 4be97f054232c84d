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

/// Determines which processes run the worker function.
enum class coordinator_mode {
  /// One process runs the worker functions of all tasks; the others run standard servers.
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

/// A callable f(strategy*), f(strategy&) or f() with any result. The strategy is null for an
/// evaluation without a strategy.
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
  /// @return its result; empty if it returns void
  std::any operator()(strategy* s) const { return call_(s); }

 private:
  std::function<std::any(strategy*)> call_;
};

/// Options of run_distribute_coordinator.
struct distribute_options {
  /// Function that evaluators run. If empty, they run the worker function.
  worker_function eval_fn{};
  /// Strategy of evaluators. If null, they run without a strategy.
  strategy const* eval_strategy = nullptr;
  /// Determines which processes run the worker function.
  coordinator_mode mode = coordinator_mode::standalone_client;
  /// The cluster; replaces the cluster and task of TF_CONFIG if set and not empty.
  std::optional<muster::cluster_spec> cluster{};
  /// Type of this process's task, for example "worker".
  std::optional<std::string> task_type{};
  /// Number of this process's task within its type.
  std::optional<int> task_id{};
  /// Configuration of sessions. If unset, session_config::usual().
  std::optional<muster::session_config> session_config{};
  /// Protocol of the servers; TF_CONFIG takes precedence.
  std::string rpc_layer = "grpc";

  /// Creates the servers of tasks.
  standard_server_factory servers = worker_servers();
  /// Address of the Muster server for sessions of worker functions. Empty: the environment variable
  /// MUSTER_COORDINATOR.
  std::string server{};
  /// Maximum time that worker_context::wait_for_others() waits.
  std::chrono::milliseconds barrier_timeout{3'600'000};
  /// Time that the other tasks have to return after one has failed.
  std::chrono::milliseconds stop_grace{120'000};
  /// Reads environment variables.
  environment_lookup environment = process_environment();
};

/// Runs the worker function as the tasks of a cluster.
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
/// The options, TF_CONFIG (which `muster run` sets) or the strategy's resolver determine the task
/// of this process. See docs/distribute-coordinator.md for the modes. A log line shows what this
/// process runs. For a task that only serves, this returns when its server has stopped.
/// @param worker_fn  the function; if it throws, the exception (the first, if several ran) is
///   rethrown
/// @param strategy  is not modified; each function gets a configured copy
/// @param options  the mode, the cluster and times
/// @return the result of the worker function if it ran once, on the calling thread, in a cluster;
///   otherwise empty
/// @throws cluster_error  the cluster or the task is invalid; nothing was started
std::any run_distribute_coordinator(worker_function worker_fn, strategy const& strategy,
                                    distribute_options options = {});

/// Options of run_standard_server.
struct standard_server_options {
  /// Configuration of the server. If unset, an empty configuration.
  std::optional<session_config> session{};
  /// Creates the server.
  standard_server_factory servers = worker_servers();
  /// Reads environment variables.
  environment_lookup environment = process_environment();
};
/// Starts the server of the task in TF_CONFIG. A thread can have one server; see
/// end_standard_server_of_this_thread.
/// @param options  the configuration and the factory
/// @return the started server
/// @throws cluster_error  names the missing part of TF_CONFIG
std::shared_ptr<standard_server> run_standard_server(standard_server_options options = {});

/// Runs the server of the resolver's task, a worker or a ps, until it ends.
/// @param resolver  describes the cluster and the task
/// @param protocol  the protocol; if empty, the protocol of the resolver
/// @param servers  creates the server
/// @throws cluster_error  invalid: the task is neither a worker nor a ps
void start_server(cluster_resolver& resolver, std::string const& protocol = {},
                  standard_server_factory const& servers = worker_servers());

/// Stops this thread's server. Each thread has at most one: starting it again with the same
/// arguments returns the same server. Other arguments are rejected with cluster_error (invalid)
/// until this is called.
void end_standard_server_of_this_thread();

}  // namespace muster
