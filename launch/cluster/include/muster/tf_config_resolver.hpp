// Reads the cluster from TF_CONFIG at each call.
#pragma once

#include "muster/cluster_resolver.hpp"
#include "muster/tf_config.hpp"

namespace muster {

class tf_config_resolver : public cluster_resolver {
 public:
  struct overrides {
    std::optional<std::string> task_type = {};
    std::optional<int> task_id = {};
    std::optional<std::string> rpc_layer = {};
    /// Replaces the field `environment` of TF_CONFIG, which applies only to the coordinator.
    std::string environment = {};
  };

  explicit tf_config_resolver(environment_lookup environment, overrides o);
  explicit tf_config_resolver(environment_lookup environment = process_environment())
      : tf_config_resolver(std::move(environment), {}) {}

  /// Returns an empty spec if TF_CONFIG has no cluster.
  muster::cluster_spec cluster_spec() override;
  /// Returns `session_master` if it is set. Returns "" if there is at most one task.
  std::string master(std::optional<std::string> type = {}, std::optional<int> id = {},
                     std::optional<std::string> rpc_layer = {}) override;
  /// Returns the accelerators of this process's task if neither type nor ID is given.
  std::map<std::string, int> num_accelerators(std::optional<std::string> type = {},
                                              std::optional<int> id = {}) override;

  using cluster_resolver::rpc_layer;
  using cluster_resolver::task_id;
  using cluster_resolver::task_type;
  std::optional<std::string> task_type() override {
    return task_type_ ? task_type_ : load().task_type;
  }
  std::optional<int> task_id() override { return task_id_ ? task_id_ : load().task_index; }
  /// Returns "" if the layer is not set; addresses then have no prefix.
  std::string rpc_layer() override { return layer_ ? *layer_ : load().rpc_layer.value_or(""); }
  void rpc_layer(std::string layer) override { layer_ = std::move(layer); }

 protected:
  virtual tf_config load() const { return tf_config::from(environment_lookup_); }
  environment_lookup const& variables() const { return environment_lookup_; }

 private:
  tf_config checked() const;

  environment_lookup const environment_lookup_;
  std::optional<std::string> layer_;
};

}  // namespace muster
