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

/// Its answers that were not acknowledged. Errors: INVALID_ARGUMENT (more than `kept_answers_max`,
/// columns, a closure that is held or named twice). REQUIRES: the same.
muster::result<std::vector<core::worker_result>> answers_from_wire(v1::Hello const& hello);
inline constexpr int kept_answers_max = 4'096;

}  // namespace muster::server
