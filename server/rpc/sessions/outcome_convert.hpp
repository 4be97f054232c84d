// The ends of a session's closures, as columns.
#pragma once

#include "muster/v1/coordinator.pb.h"
#include "proto/outbox.hpp"
#include "server/core/api/effects.hpp"

namespace muster::server {

/// Appends one outcome to what the stream has to send; with the closure if its session holds
/// values.
void to_wire(core::outcome const& o, bool holding, proto::outbox<v1::SessionResponse>& out);

}  // namespace muster::server
