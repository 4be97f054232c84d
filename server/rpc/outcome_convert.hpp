// The ends of a session's closures, as columns.
#pragma once

#include "muster/v1/coordinator.pb.h"
#include "proto/outbox.hpp"
#include "server/core/model.hpp"

namespace muster::server {

/// Appends one outcome to what the stream has to send.
void to_wire(core::outcome const& o, proto::outbox<v1::SessionResponse>& out);

}  // namespace muster::server
