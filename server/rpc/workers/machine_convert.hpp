// Converts a worker's report about its host.
#pragma once

#include "base/machine.hpp"
#include "base/status.hpp"
#include "muster/v1/worker.pb.h"

namespace muster::server {

/// An invalid number (negative, not finite) becomes unknown. Returns INVALID_ARGUMENT with the
/// field in the message.
muster::result<machine> from_wire(v1::Machine const& m);

}  // namespace muster::server
