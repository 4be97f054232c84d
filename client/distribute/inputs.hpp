// Validated inputs of run_distribute_coordinator: from the options, then TF_CONFIG, then the
// strategy's resolver. Also the standard server of a thread. Internal.
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

/// Returns `given`, otherwise the environment variable MUSTER_COORDINATOR; empty if neither is set.
std::string server_of_environment(std::string const& given);

/// Returns one line of JSON for the log, or only the size of a large configuration.
std::string text_of(session_config const& c);

/// Returns this thread's server, after creating and starting it if necessary. `c.cluster` is the
/// whole cluster. Throws cluster_error (invalid), which names the difference, if another server is
/// running.
std::shared_ptr<standard_server> server_of_this_thread(standard_server_config c,
                                                       standard_server_factory const& make);

}  // namespace muster::distribute
