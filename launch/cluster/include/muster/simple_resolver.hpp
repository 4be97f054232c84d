// Resolver with a fixed cluster and fixed settings.
#pragma once

#include "muster/cluster_resolver.hpp"

namespace muster {

class simple_resolver : public cluster_resolver {
 public:
  struct options {
    /// Result of master() if neither type nor ID is given.
    std::string master = {};
    std::optional<std::string> task_type = {};
    std::optional<int> task_id = {};
    std::string environment = {};
    std::map<std::string, int> num_accelerators = {};
    /// If empty, addresses have no prefix.
    std::string rpc_layer = {};
  };

  explicit simple_resolver(muster::cluster_spec spec, options o);
  explicit simple_resolver(muster::cluster_spec spec) : simple_resolver(std::move(spec), {}) {}

  muster::cluster_spec cluster_spec() override { return spec_; }
  std::string master(std::optional<std::string> type = {}, std::optional<int> id = {},
                     std::optional<std::string> rpc_layer = {}) override;
  std::map<std::string, int> num_accelerators(std::optional<std::string> = {},
                                              std::optional<int> = {}) override {
    return accelerators_;
  }

 private:
  muster::cluster_spec const spec_;
  std::string const master_;
  std::map<std::string, int> const accelerators_;
};

}  // namespace muster
