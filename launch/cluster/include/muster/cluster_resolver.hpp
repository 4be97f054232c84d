// Finds a cluster, like TensorFlow's ClusterResolver. There is one subclass for each source.
//
// Not thread-safe. cluster_spec() caches nothing; it reads its source at each call and can block up
// to the resolver's time limits. Errors are thrown as cluster_error.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "muster/cluster_spec.hpp"

namespace muster {

/// Looks up an environment variable. The function is replaceable, so that tests and `muster run`
/// need not change the process's environment.
using environment_lookup = std::function<std::optional<std::string>(std::string const& name)>;
environment_lookup process_environment();

class cluster_resolver {
 public:
  virtual ~cluster_resolver() = default;

  /// Returns an empty spec if the program runs alone.
  virtual muster::cluster_spec cluster_spec() = 0;

  /// Returns for example "grpc://10.0.0.1:8470" for the given task or for this process's task. If
  /// the RPC layer is empty, returns only the address. Returns "" if the task is unknown.
  virtual std::string master(std::optional<std::string> type = {}, std::optional<int> id = {},
                             std::optional<std::string> rpc_layer = {});

  /// Returns accelerators by kind, for example {"GPU", 4}, of the given task or of all tasks.
  /// Counts devices with the list_devices() function; without this function, the result is empty.
  virtual std::map<std::string, int> num_accelerators(std::optional<std::string> type = {},
                                                      std::optional<int> id = {});

  /// Sets the function that lists devices, for example "/job:worker/replica:0/task:0/device:GPU:1".
  void list_devices(std::function<std::vector<std::string>()> lister) {
    lister_ = std::move(lister);
  }

  // Returns or sets this process's task, or nullopt if unknown. A value that was set overrides the
  // resolver's value.
  virtual std::optional<std::string> task_type() { return task_type_; }
  virtual std::optional<int> task_id() { return task_id_; }
  virtual void task_type(std::optional<std::string> type) { task_type_ = std::move(type); }
  virtual void task_id(std::optional<int> id) { task_id_ = id; }

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

/// Counts devices by kind, the last part of their name. Excludes CPUs and XLA_CPUs. With a type and
/// an ID, counts only devices of this task.
std::map<std::string, int> count_accelerators(std::vector<std::string> const& devices,
                                              std::optional<std::string> const& type = {},
                                              std::optional<int> id = {});

/// Returns for example "grpc://host:1", or only the address if the layer is empty.
std::string format_master(std::string const& rpc_layer, std::string const& address);

}  // namespace muster
