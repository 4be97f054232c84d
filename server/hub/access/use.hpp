// Checks a caller's rights and quotas: owned sessions, restricted functions, and the limits of the
// caller's token. Used only on the engine thread.
#pragma once

#include <cstddef>
#include <string_view>

#include "server/core/access/token.hpp"
#include "server/core/api/model.hpp"
#include "server/hub/pools.hpp"

namespace muster::server {

/// Returns PERMISSION_DENIED if the session belongs to another submitter; OK if it does not exist.
muster::status check_owner(core::caller const& who, hub& h, core::session_id session);
/// Returns PERMISSION_DENIED if the function runs programs on workers and the token does not allow
/// programs.
muster::status check_function(core::caller const& who, std::string_view function);
/// Checks the token's quota for more sessions and queue entries (closures, ranks, per-worker
/// values). Visits all sessions if the token has limits. Returns RESOURCE_EXHAUSTED with the name
/// of an exceeded limit.
muster::status room_of(core::token const& who, pools& all, std::size_t sessions,
                       std::size_t entries);
/// Returns how many more closures the token's streams may queue. Ranks and per-worker values are
/// excluded, because they are released over these streams instead of draining by themselves.
std::size_t queue_room_of(core::token const& who, pools& all);
/// Checks the token's quota for `more` bytes. Returns RESOURCE_EXHAUSTED with the name of an
/// exceeded limit.
muster::status room_for_values(core::token const& who, pools& all, std::uint64_t more = 1);
void limit_to(core::token const& who, core::session_spec& spec);

}  // namespace muster::server
