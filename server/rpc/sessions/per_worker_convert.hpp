// PerWorkerValues as a session asks for them, on its stream or by call, and what it is told. Pure
// functions.
#pragma once

#include <vector>

#include "muster/v1/coordinator.pb.h"
#include "server/core/api/effects.hpp"
#include "server/core/api/views.hpp"

namespace muster::server {

/// All but the owner. `functions` are the numbers that the stream has given so far. Errors, each
/// naming the field: INVALID_ARGUMENT.
muster::result<core::create_per_worker> from_wire(v1::NewPerWorkerValue const& asked,
                                                  std::vector<core::function_id> const& functions);
/// All but the owner and the function, which comes by name.
muster::result<core::create_per_worker> from_wire(v1::CreatePerWorkerValueRequest const& asked);

/// The answer to create_per_worker. Fills everything but the token.
void to_wire(core::reply const& answer, v1::PerWorkerCreated& to);
v1::PerWorkerValue to_wire(core::per_worker_view const& v);

}  // namespace muster::server
