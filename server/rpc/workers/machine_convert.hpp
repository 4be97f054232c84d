// What a worker sees of its machine.
#pragma once

#include "base/machine.hpp"
#include "base/status.hpp"
#include "muster/v1/worker.pb.h"

namespace muster::server {

/// INVALID_ARGUMENT names the field. Figures that are none (negative, not finite) are not known.
muster::result<machine> from_wire(v1::Machine const& m);

}  // namespace muster::server
