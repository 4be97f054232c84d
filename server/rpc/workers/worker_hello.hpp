// Validates a worker's hello.
#pragma once

#include "muster/v1/worker.pb.h"
#include "server/core/api/config.hpp"
#include "server/core/api/model.hpp"

namespace muster::server {

/// Returns RESOURCE_EXHAUSTED for too many functions, otherwise INVALID_ARGUMENT. The message
/// contains the field and its value.
muster::result<core::worker_spec> from_wire(v1::Hello const& hello, core::config const& limits);

/// Returns the closures that the worker still holds. Returns INVALID_ARGUMENT for columns of
/// different lengths, more closures than credits, or duplicates. REQUIRES: the rest of the hello is
/// valid.
muster::result<std::vector<core::held_closure>> held_from_wire(v1::Hello const& hello);

/// Returns the worker's unacknowledged answers. Returns INVALID_ARGUMENT for more than
/// `kept_answers_max` answers, invalid columns, or a closure that occurs twice or that the worker
/// still holds. REQUIRES: the rest of the hello is valid.
muster::result<std::vector<core::worker_result>> answers_from_wire(v1::Hello const& hello);
inline constexpr int kept_answers_max = 4'096;

}  // namespace muster::server
