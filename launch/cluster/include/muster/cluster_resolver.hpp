// Finds a cluster: the ClusterResolver of TensorFlow. One subclass for each place that knows where
// tasks run.
//
// A resolver is used by one thread at a time. cluster_spec() asks anew at each call and may block
// for as long as the resolver's time limits say; nothing is cached. Failures are cluster_error.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "muster/cluster_spec.hpp"

namespace muster {

/// Looks up an environment variable. Resolvers ask through this, so that tests and `muster run`
/// need not change the process's own.
using environment_lookup = std::function<std::optional<std::string>(std::string const& name)>;
/// Of this process.
environment_lookup process_environment();

class cluster_resolver {
 public:
  virtual ~cluster_resolver() = default;

  /// Empty: there is no cluster, the program is alone.
  virtual muster::cluster_spec cluster_spec() = 0;

  /// "grpc://10.0.0.1:8470" of the given task, else of this process's own; only the address when
  /// the layer is empty; empty when nothing says which task.
  virtual std::string master(std::optional<std::string> type = {}, std::optional<int> id = {},
                             std::optional<std::string> rpc_layer = {});

  /// Accelerators by kind, e.g. {"GPU", 4}: of that task with a type and an id, else of all.
  /// Counted among the devices that `list_devices` names; none are known without it.
  virtual std::map<std::string, int> num_accelerators(std::optional<std::string> type = {},
                                                      std::optional<int> id = {});

  /// How to list the devices of the cluster, as "/job:worker/replica:0/task:0/device:GPU:1".
  void list_devices(std::function<std::vector<std::string>()> lister) {
    lister_ = std::move(lister);
  }

  // Of this process; unset: not known. Setting one overrides what the resolver finds.
  virtual std::optional<std::string> task_type() { return task_type_; }
  virtual std::optional<int> task_id() { return task_id_; }
  virtual void task_type(std::optional<std::string> type) { task_type_ = std::move(type); }
  virtual void task_id(std::optional<int> id) { task_id_ = id; }

  /// Empty or "google".
  virtual std::string environment() { return environment_; }
  virtual std::string rpc_layer() { return rpc_layer_; }
  virtual void rpc_layer(std::string layer) { rpc_layer_ = std::move(layer); }

 protected:
  std::optional<std::string> task_type_;
  std::optional<int> task_id_;
  std::string environment_;
  std::string rpc_layer_ = "grpc";
  std::function<std::vector<std::string>()> lister_;
};

/// The last part of each name is its kind; CPUs and XLA_CPUs are not counted. With a type and an id
/// only devices of exactly that task.
std::map<std::string, int> count_accelerators(std::vector<std::string> const& devices,
                                              std::optional<std::string> const& type = {},
                                              std::optional<int> id = {});

/// "grpc://host:1", or the address alone when the layer is empty.
std::string format_master(std::string const& rpc_layer, std::string const& address);

}  // namespace muster
