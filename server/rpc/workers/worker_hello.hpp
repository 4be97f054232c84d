// A worker's introduction, checked field by field.
#pragma once

#include "muster/v1/worker.pb.h"
#include "server/core/api/config.hpp"
#include "server/core/api/model.hpp"

namespace muster::server {

/// Errors, each naming the field and what it held: INVALID_ARGUMENT;
/// RESOURCE_EXHAUSTED (too many functions).
muster::result<core::worker_spec> from_wire(v1::Hello const& hello, core::config const& limits);

/// What the worker says it still has. Errors: INVALID_ARGUMENT (unequal columns, more than credits,
/// twice). REQUIRES: the rest of the hello was taken.
muster::result<std::vector<core::held_closure>> held_from_wire(v1::Hello const& hello);

}  // namespace muster::server
