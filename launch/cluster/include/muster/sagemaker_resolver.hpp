// The hosts of a SageMaker training job: SM_HOSTS (a JSON list) and SM_CURRENT_HOST. All are
// workers, in the order of their names. Everything else is as with TF_CONFIG.
#pragma once

#include "muster/tf_config_resolver.hpp"

namespace muster {

class sagemaker_resolver : public tf_config_resolver {
 public:
  static constexpr int default_port = 2223;

  explicit sagemaker_resolver(environment_lookup environment = process_environment(),
                              int port = default_port)
      : sagemaker_resolver(std::move(environment), port, {}) {}
  /// invalid: a port that is none.
  sagemaker_resolver(environment_lookup environment, int port, overrides o);

 protected:
  /// Empty when the current host is not among the hosts. missing: a variable is not there.
  tf_config load() const override;

 private:
  int const port_;
};

}  // namespace muster
