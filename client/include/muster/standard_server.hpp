// The server that a task of a distributed program runs for the others. In Muster that is a worker:
// it attaches to a Muster server under the task's type and index and runs the functions that are
// scheduled for it. Nothing listens at the task's own address; it is kept as the label "address".
//
// Members may be called from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "muster/cluster_spec.hpp"
#include "muster/session_config.hpp"
#include "muster/worker.hpp"

namespace muster {

class standard_server {
 public:
  virtual ~standard_server() = default;
  /// Once is enough; again does nothing.
  virtual void start() = 0;
  /// Starts it if need be, and waits until it has ended. Errors: std::runtime_error when that was
  /// not an orderly end.
  virtual void join() = 0;
  /// Finishes what runs, then ends. A second one does not wait for what runs. Those of
  /// worker_servers() can be stopped from a signal handler, except in the environment "google".
  virtual void stop() noexcept = 0;
};

struct standard_server_config {
  /// Without evaluators, or for an evaluator nothing but them.
  cluster_spec cluster;
  std::string task_type;
  int task_id = 0;
  /// For factories that know what to do with it: worker_servers() does not look at it, since a
  /// worker has neither devices to filter nor settings of TensorFlow.
  session_config session{};
  std::string rpc_layer{};
  std::string environment{};  // "google": the task's server is there already

  /// "grpc://host:port" of the task.
  std::string target() const;
};

/// Makes a server that is not started yet.
using standard_server_factory =
    std::function<std::shared_ptr<standard_server>(standard_server_config const&)>;

struct worker_server_options {
  /// "host:port" of the Muster server; empty: the variable MUSTER_COORDINATOR.
  std::string server{};
  std::string cluster{};  // there; empty: the default one
  std::uint32_t slots = 1;
  /// Adds the functions that this task runs.
  std::function<void(worker&)> functions{};
};

/// What is used unless told otherwise. Errors of the factory: cluster_error, missing: no Muster
/// server is named. In the environment "google" its servers start nothing and wait for stop().
standard_server_factory worker_servers(worker_server_options options = {});

}  // namespace muster
