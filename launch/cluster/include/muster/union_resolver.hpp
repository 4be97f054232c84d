// Merges the specs of several resolvers. All other settings come from the first resolver, unless
// overridden.
#pragma once

#include <memory>
#include <vector>

#include "muster/cluster_resolver.hpp"

namespace muster {

class union_resolver : public cluster_resolver {
 public:
  struct overrides {
    std::optional<std::string> task_type = {};
    std::optional<int> task_id = {};
    std::optional<std::string> rpc_layer = {};
  };

  /// @throws cluster_error (invalid) if there is no resolver, or if a resolver is nullptr
  union_resolver(std::vector<std::shared_ptr<cluster_resolver>> resolvers, overrides o);
  explicit union_resolver(std::vector<std::shared_ptr<cluster_resolver>> resolvers)
      : union_resolver(std::move(resolvers), {}) {}

  /// Concatenates jobs that are dense in all specs, in the resolvers' order. If a job is sparse in
  /// any spec, indices are kept, and duplicates are invalid.
  muster::cluster_spec cluster_spec() override;
  /// Returns the master address of the given task, or the first resolver's master address.
  std::string master(std::optional<std::string> type = {}, std::optional<int> id = {},
                     std::optional<std::string> rpc_layer = {}) override;
  std::map<std::string, int> num_accelerators(std::optional<std::string> type = {},
                                              std::optional<int> id = {}) override;

  using cluster_resolver::rpc_layer;
  using cluster_resolver::task_id;
  using cluster_resolver::task_type;
  std::optional<std::string> task_type() override {
    return task_type_ ? task_type_ : resolvers_.front()->task_type();
  }
  std::optional<int> task_id() override {
    return task_id_ ? task_id_ : resolvers_.front()->task_id();
  }
  std::string environment() override { return resolvers_.front()->environment(); }
  std::string rpc_layer() override { return layer_ ? *layer_ : resolvers_.front()->rpc_layer(); }
  void rpc_layer(std::string layer) override { layer_ = std::move(layer); }

 private:
  std::vector<std::shared_ptr<cluster_resolver>> const resolvers_;
  std::optional<std::string> layer_;
};

}  // namespace muster
