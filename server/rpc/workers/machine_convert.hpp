// Converts a worker's report about its host.
#pragma once

#include "base/machine.hpp"
#include "base/status.hpp"
#include "muster/v1/worker.pb.h"

namespace muster::server {

/// Invalid numbers (negative, not finite) become unknown. Errors: INVALID_ARGUMENT with the field.
muster::result<machine> from_wire(v1::Machine const& m);

}  // namespace muster::server
