// The one standard server of a thread. Internal.
#pragma once

#include "muster/standard_server.hpp"

namespace muster::distribute {

/// The thread's server, started; it is made if there is none. `c.cluster` is the whole cluster.
/// Errors: cluster_error, invalid, names what differs from the one that runs.
std::shared_ptr<standard_server> server_of_this_thread(standard_server_config c,
                                                       standard_server_factory const& make);

}  // namespace muster::distribute
