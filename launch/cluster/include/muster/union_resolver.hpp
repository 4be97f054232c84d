// Several resolvers as one: their specs merged, everything else of the first, unless overridden.
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

  /// invalid: none are given, or a null one.
  union_resolver(std::vector<std::shared_ptr<cluster_resolver>> resolvers, overrides o);
  explicit union_resolver(std::vector<std::shared_ptr<cluster_resolver>> resolvers)
      : union_resolver(std::move(resolvers), {}) {}

  /// A job that is dense in all of them is concatenated in their order; where it is sparse in one,
  /// indices stay as they are, and one that is there twice is invalid.
  muster::cluster_spec cluster_spec() override;
  /// Of the given task; without a type and an id the first resolver's.
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
