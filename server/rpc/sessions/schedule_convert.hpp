// Converts session requests: introduction, closures, per-worker values. Pure functions.
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

/// Converts the introduction. Returns NOT_FOUND for an unknown cluster, otherwise INVALID_ARGUMENT
/// with the field.
muster::result<core::session_spec> from_wire(v1::Open const& open);

/// Returns the answer to `open` without the fields that identify the server.
v1::Opened to_wire(core::job_view const& session, v1::Open const& open, core::config const& limits);

/// Returns the session's closure with this token, or an empty ID.
using token_lookup = std::function<core::closure_id(std::uint64_t)>;

/// Adds the message's closures to an empty submission. `functions` contains the functions that the
/// stream has defined, including in this message; for a call, it contains one function per closure.
/// Returns an empty string, or the field and the problem. After a problem, `into` must not be used.
std::string from_wire(v1::SessionRequest const& message,
                      std::vector<core::function_id> const& functions, token_lookup const& held,
                      submission& into);
std::string from_wire(v1::ScheduleRequest const& message,
                      std::vector<core::function_id> const& functions, token_lookup const& held,
                      submission& into);

/// Sets all fields except the owner. `functions` contains the functions that the stream has
/// defined. Returns INVALID_ARGUMENT with the field in the message.
muster::result<core::create_per_worker> from_wire(v1::NewPerWorkerValue const& asked,
                                                  std::vector<core::function_id> const& functions);
/// Sets all fields except the owner and the function.
muster::result<core::create_per_worker> from_wire(v1::CreatePerWorkerValueRequest const& asked);

/// Converts the answer to create_per_worker. Sets all fields except the token.
void to_wire(core::reply const& answer, v1::PerWorkerCreated& to);
v1::PerWorkerValue to_wire(core::per_worker_view const& v);

}  // namespace muster::server
