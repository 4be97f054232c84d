// Servers that tasks of a distributed program run.
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
/// In Muster this is a worker: it connects to a Muster server with the task's type and index and
/// runs the functions that are scheduled on it. It does not listen at the task's address, but shows
/// it as the label "address". Members may be called from any thread.
class standard_server {
 public:
  virtual ~standard_server() = default;
  /// Starts the server; has no effect if it has been started.
  virtual void start() = 0;
  /// Waits until the server has ended; starts it first if necessary.
  /// @throws std::runtime_error  the server did not end in an orderly way
  virtual void join() = 0;
  /// Ends the server when running calls have finished; a second call does not wait for them. For
  /// servers of worker_servers() this may be called in a signal handler, except in the environment
  /// "google".
  virtual void stop() noexcept = 0;
};

/// Configuration of a standard_server.
struct standard_server_config {
  /// The cluster; without evaluators, or for an evaluator with evaluators only.
  cluster_spec cluster;
  /// Type of the task, for example "worker".
  std::string task_type;
  /// Number of the task within its type.
  int task_id = 0;
  /// Settings for custom factories. worker_servers() ignores them, since a worker has neither
  /// devices to filter nor TensorFlow settings.
  session_config session{};
  /// Protocol of the server.
  std::string rpc_layer{};
  /// Environment of the task; "google": the task's server already runs.
  std::string environment{};

  /// Returns the target of the task, "grpc://host:port".
  std::string target() const;
};

/// Creates a server without starting it.
using standard_server_factory =
    std::function<std::shared_ptr<standard_server>(standard_server_config const&)>;

/// Options of worker_servers.
struct worker_server_options {
  /// Address of the Muster server, "host:port". Empty: the environment variable MUSTER_COORDINATOR.
  std::string server{};
  /// Name of the cluster at that server; empty: the default cluster.
  std::string cluster{};
  /// Number of calls that run at the same time.
  std::uint32_t slots = 1;
  /// Adds the functions of this task to the worker.
  std::function<void(worker&)> functions{};
};

/// Returns the default factory, which creates workers. Throws cluster_error (missing) if no Muster
/// server is configured. In the environment "google" its servers start nothing, and wait for
/// stop().
/// @param options  the Muster server and the functions
standard_server_factory worker_servers(worker_server_options options = {});

}  // namespace muster
