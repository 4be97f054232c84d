// What a session asks for: its introduction, its closures, its PerWorkerValues. Pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "muster/v1/coordinator.pb.h"
#include "server/core/api/config.hpp"
#include "server/core/api/effects.hpp"
#include "server/core/api/views.hpp"
#include "server/hub/submission.hpp"

namespace muster::server {

/// Errors, each naming the field: INVALID_ARGUMENT; NOT_FOUND (cluster).
muster::result<core::session_spec> from_wire(v1::Open const& open);

/// What is told of a session that `open` has opened or resumed; who the server is, the caller adds.
v1::Opened to_wire(core::job_view const& session, v1::Open const& open, core::config const& limits);

/// The closure of a token that its session holds, or none.
using token_lookup = std::function<core::closure_id(std::uint64_t)>;

/// Fills an empty submission with the message's closures. `functions` are the numbers that the
/// stream has given so far, those of this message included; of a call one for each closure. Empty,
/// or the field and what is wrong with it; then `into` is not to be used.
std::string from_wire(v1::SessionRequest const& message,
                      std::vector<core::function_id> const& functions, token_lookup const& held,
                      submission& into);
std::string from_wire(v1::ScheduleRequest const& message,
                      std::vector<core::function_id> const& functions, token_lookup const& held,
                      submission& into);

// PerWorkerValues as a session asks for them, on its stream or by call, and what it is told.

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
