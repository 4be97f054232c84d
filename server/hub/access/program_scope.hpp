// A caller who sees the cluster in which a program runs also sees the program's own coordination
// cluster. Used only on the engine thread.
#pragma once

#include <string_view>

#include "server/hub/access/cluster_scope.hpp"
#include "server/hub/pools.hpp"

namespace muster::server {

bool sees(cluster_scope const& who, pools& all, std::string_view cluster);
bool sees(cluster_scope const& who, pools& all, log_event const& n);

}  // namespace muster::server
