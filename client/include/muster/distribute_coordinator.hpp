// Runs a function as the tasks of a cluster: the distribute coordinator of TensorFlow.
//
//   int main() {
//     my_strategy s;
//     muster::run_distribute_coordinator([](muster::strategy* mine) { train(*mine); }, s,
//                                        {.mode = muster::coordinator_mode::independent_worker});
//   }
//
// Which task this process is comes from the options, from TF_CONFIG (`muster run` sets it) or from
// the strategy's resolver. See docs/distribute-coordinator.md for the modes.
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

enum class coordinator_mode {
  /// One process drives all tasks; the others run standard servers.
  standalone_client,
  /// Every task runs this, with its own server.
  independent_worker,
};
/// "standalone_client" or "independent_worker"; cluster_error, invalid: anything else.
coordinator_mode parse_coordinator_mode(std::string_view text);
std::string_view to_string(coordinator_mode mode);

/// f(strategy*), f(strategy&) or f(); whatever it returns, or nothing. The strategy is null for an
/// evaluation without one.
class worker_function {
 public:
  worker_function() = default;
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

  explicit operator bool() const { return static_cast<bool>(call_); }
  std::any operator()(strategy* s) const { return call_(s); }

 private:
  std::function<std::any(strategy*)> call_;
};

struct distribute_options {
  /// For an evaluator; else the worker function is used. It may do without a strategy.
  worker_function eval_fn{};
  strategy const* eval_strategy = nullptr;
  coordinator_mode mode = coordinator_mode::standalone_client;
  /// Set: the cluster and task of TF_CONFIG count for nothing. An empty one is as unset.
  std::optional<muster::cluster_spec> cluster{};
  std::optional<std::string> task_type{};
  std::optional<int> task_id{};
  /// Unset: session_config::usual().
  std::optional<muster::session_config> session_config{};
  std::string rpc_layer = "grpc";  // TF_CONFIG's wins

  /// Makes the servers of tasks.
  standard_server_factory servers = worker_servers();
  /// Of sessions that worker functions make; empty: the variable MUSTER_COORDINATOR.
  std::string server{};
  /// How long one waits for the others at wait_for_others().
  std::chrono::milliseconds barrier_timeout{3'600'000};
  /// How long the others may take to return once one has failed.
  std::chrono::milliseconds stop_grace{120'000};
  environment_lookup environment = process_environment();
};

/// Returns what the worker function returned where it ran once on the calling thread in a cluster,
/// else nothing; what runs is one line of the log; for tasks that only serve, once the server has
/// ended. What it throws is raised here: the first error if several ran. Errors besides:
/// cluster_error for what is wrong with the cluster or the task, before anything is started.
std::any run_distribute_coordinator(worker_function worker_fn, strategy const& strategy,
                                    distribute_options options = {});

struct standard_server_options {
  std::optional<session_config> session{};
  standard_server_factory servers = worker_servers();
  environment_lookup environment = process_environment();
};
/// Starts the server of the task that TF_CONFIG names. Errors: cluster_error names what is missing.
std::shared_ptr<standard_server> run_standard_server(standard_server_options options = {});

/// Runs the server of the resolver's own task, which is a worker or a ps, until it ends. An empty
/// protocol: the resolver's.
void start_server(cluster_resolver& resolver, std::string const& protocol = {},
                  standard_server_factory const& servers = worker_servers());

/// Each thread has one server at most: the same call again gives the same one, another cluster,
/// task, configuration, layer or environment is refused (cluster_error, invalid). This ends it.
void end_standard_server_of_this_thread();

}  // namespace muster
