// What a session asks for: its introduction and its closures.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "muster/v1/coordinator.pb.h"
#include "server/core/api/model.hpp"

namespace muster::server {

/// Errors, each naming the field: INVALID_ARGUMENT; NOT_FOUND (cluster).
muster::result<core::session_spec> from_wire(v1::Open const& open);

/// The closure of a token that its session holds, or none.
using token_lookup = std::function<core::closure_id(std::uint64_t)>;

/// Appends the message's closures to `closures`; `functions` are the numbers given so far, those of
/// this message included. Empty, or the field and what is wrong with it; then `closures` is not to
/// be used.
std::string from_wire(v1::SessionRequest const& message,
                      std::vector<core::function_id> const& functions, token_lookup const& held,
                      std::vector<core::closure_spec>& closures);

/// The same for a call, where functions come by name. REQUIRES: `functions` has one for each.
std::string from_wire(v1::ScheduleRequest const& message,
                      std::vector<core::function_id> const& functions, token_lookup const& held,
                      std::vector<core::closure_spec>& closures);

}  // namespace muster::server
