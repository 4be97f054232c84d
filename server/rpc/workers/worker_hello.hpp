// Validates a worker's hello.
#pragma once

#include "muster/v1/worker.pb.h"
#include "server/core/api/config.hpp"
#include "server/core/api/model.hpp"

namespace muster::server {

/// Errors contain the field and its value: INVALID_ARGUMENT; RESOURCE_EXHAUSTED for too many
/// functions.
muster::result<core::worker_spec> from_wire(v1::Hello const& hello, core::config const& limits);

/// Returns the closures that the worker still holds. Errors: INVALID_ARGUMENT for unequal columns,
/// more closures than credits, or duplicates. REQUIRES: the rest of the hello is valid.
muster::result<std::vector<core::held_closure>> held_from_wire(v1::Hello const& hello);

/// Returns the worker's unacknowledged answers. Errors: INVALID_ARGUMENT for more than
/// `kept_answers_max`, invalid columns, or a closure that is held or duplicated. REQUIRES: the rest
/// of the hello is valid.
muster::result<std::vector<core::worker_result>> answers_from_wire(v1::Hello const& hello);
inline constexpr int kept_answers_max = 4'096;

}  // namespace muster::server
