// Servers that the tasks of a distributed program run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "muster/cluster_spec.hpp"
#include "muster/session_config.hpp"
#include "muster/worker.hpp"

namespace muster {

/// The server that a task of a distributed program runs for the other tasks.
///
/// In Muster, a standard server is a worker. The worker connects to a Muster server with the task's
/// type and index, and runs the functions that are scheduled on it. The worker does not listen on
/// the task's address, which is only shown as the label "address". Members may be called from any
/// thread.
class standard_server {
 public:
  virtual ~standard_server() = default;
  /// Starts the server; has no effect if it has been started.
  virtual void start() = 0;
  /// Waits until the server has ended; starts it first if necessary.
  /// @throws std::runtime_error  the server ended with an error
  virtual void join() = 0;
  /// Ends the server after running calls have finished; a second call does not wait for running
  /// calls. For servers created by worker_servers(), this function can be called in a signal
  /// handler, except in the environment "google".
  virtual void stop() noexcept = 0;
};

/// Configuration of a standard_server.
struct standard_server_config {
  /// The cluster without its evaluators; for an evaluator, only the evaluators.
  cluster_spec cluster;
  /// Type of the task, for example "worker".
  std::string task_type;
  /// Number of the task within its type.
  int task_id = 0;
  /// Settings for custom factories. Workers do not use these settings, because a worker has neither
  /// device filters nor TensorFlow settings.
  session_config session{};
  /// Protocol of the server.
  std::string rpc_layer{};
  /// Environment of the task. "google" means that the task's server is already running.
  std::string environment{};

  /// Returns the target of the task, "grpc://host:port".
  std::string target() const;
};

/// Creates a server without starting it.
using standard_server_factory =
    std::function<std::shared_ptr<standard_server>(standard_server_config const&)>;

/// Options of worker_servers.
struct worker_server_options {
  /// Muster server address, "host:port". If empty, it is read from the environment variable
  /// MUSTER_COORDINATOR.
  std::string server{};
  /// Cluster name on that server; if empty, the default cluster.
  std::string cluster{};
  /// Number of calls that run at the same time.
  std::uint32_t slots = 1;
  /// Adds this task's functions to the worker.
  std::function<void(worker&)> functions{};
};

/// Returns the default factory, which creates workers. The factory throws cluster_error (missing)
/// if no Muster server is configured. In the environment "google", its servers start nothing and
/// only wait for stop().
/// @param options  Muster server and functions
standard_server_factory worker_servers(worker_server_options options = {});

}  // namespace muster
