// What run_distribute_coordinator works with, once the options, TF_CONFIG and the strategy's
// resolver were asked, in this order, and what they said was checked; and the one standard server
// of a thread. Internal.
#pragma once

#include "muster/distribute_coordinator.hpp"

namespace muster::distribute {

struct inputs {
  cluster_spec cluster;  // empty: alone
  std::optional<std::string> task_type;
  std::optional<int> task_id;
  std::string rpc_layer, environment;
  session_config config;

  bool is_client() const { return !task_type || *task_type == "client"; }
};

/// Errors: cluster_error.
inputs resolve_inputs(strategy const& s, distribute_options const& o);

/// `given`, or else the variable MUSTER_COORDINATOR; empty when there is neither.
std::string server_of_environment(std::string const& given);

/// One line of JSON for a log; of a large one how large it is.
std::string text_of(session_config const& c);

/// The thread's server, started; it is made if there is none. `c.cluster` is the whole cluster.
/// Errors: cluster_error, invalid, names what differs from the one that runs.
std::shared_ptr<standard_server> server_of_this_thread(standard_server_config c,
                                                       standard_server_factory const& make);

}  // namespace muster::distribute
