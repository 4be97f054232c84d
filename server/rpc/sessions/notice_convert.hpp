// What a session's client is told beside outcomes.
#pragma once

#include "muster/v1/coordinator.pb.h"
#include "server/core/api/effects.hpp"

namespace muster::server {

/// REQUIRES: failed or drained.
void to_wire(core::session_notice const& from, v1::Notice& to);

}  // namespace muster::server
