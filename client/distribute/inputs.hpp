// Validated inputs of run_distribute_coordinator, taken from the options, then from TF_CONFIG, then
// from the strategy's resolver. Also manages the standard server of a thread.
#pragma once

#include "muster/distribute_coordinator.hpp"

namespace muster::distribute {

struct inputs {
  cluster_spec cluster;  // empty outside a cluster
  std::optional<std::string> task_type;
  std::optional<int> task_id;
  std::string rpc_layer, environment;
  session_config config;

  bool is_client() const { return !task_type || *task_type == "client"; }
};

/// Throws cluster_error if the inputs are invalid.
inputs resolve_inputs(strategy const& s, distribute_options const& o);

/// Returns `given` or, if it is empty, the environment variable MUSTER_COORDINATOR.
std::string server_of_environment(std::string const& given);

/// Returns one line of JSON for the log, or only the size of a large configuration.
std::string text_of(session_config const& c);

/// Creates and starts this thread's server if necessary. `c.cluster` is the whole cluster. Throws
/// cluster_error (invalid), whose message names the difference, if a different server is running.
std::shared_ptr<standard_server> server_of_this_thread(standard_server_config c,
                                                       standard_server_factory const& make);

}  // namespace muster::distribute
