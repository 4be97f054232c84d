// Treats the hosts of a SageMaker training job as workers, sorted by name. Reads SM_HOSTS (a JSON
// list) and SM_CURRENT_HOST, and otherwise works like tf_config_resolver.
#pragma once

#include "muster/tf_config_resolver.hpp"

namespace muster {

class sagemaker_resolver : public tf_config_resolver {
 public:
  static constexpr int default_port = 2223;

  explicit sagemaker_resolver(environment_lookup environment = process_environment(),
                              int port = default_port)
      : sagemaker_resolver(std::move(environment), port, {}) {}
  /// @throws cluster_error (invalid) if the port is invalid
  sagemaker_resolver(environment_lookup environment, int port, overrides o);

 protected:
  /// Returns an empty configuration if the current host is not among the hosts.
  /// @throws cluster_error (missing) if a variable is not set
  tf_config load() const override;

 private:
  int const port_;
};

}  // namespace muster
