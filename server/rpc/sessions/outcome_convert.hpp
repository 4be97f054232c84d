// What a session's client is told: the ends of closures, as columns, and notices.
#pragma once

#include "muster/v1/coordinator.pb.h"
#include "proto/outbox.hpp"
#include "server/core/api/effects.hpp"

namespace muster::server {

/// Appends one outcome to what the stream has to send; with the closure if its session holds
/// values.
void to_wire(core::outcome const& o, bool holding, proto::outbox<v1::SessionResponse>& out);

/// REQUIRES: failed or drained.
void to_wire(core::session_notice const& from, v1::Notice& to);

}  // namespace muster::server
