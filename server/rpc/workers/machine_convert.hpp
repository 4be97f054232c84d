// Conversion of a worker's report on its host.
#pragma once

#include "base/machine.hpp"
#include "base/status.hpp"
#include "muster/v1/worker.pb.h"

namespace muster::server {

/// Errors: INVALID_ARGUMENT, which names the field. Invalid numbers (negative, not finite) are
/// treated as unknown.
muster::result<machine> from_wire(v1::Machine const& m);

}  // namespace muster::server
