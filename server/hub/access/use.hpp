// Checks of what a caller may do: ownership of sessions, restricted functions, quotas of tokens.
// Engine thread.
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
/// that.
muster::status check_function(core::caller const& who, std::string_view function);
/// Checks whether the token's quota allows that many more sessions and queue entries: closures,
/// ranks of programs, or per-worker values. Walks all sessions if the token has limits.
/// @return RESOURCE_EXHAUSTED, which names the limit.
muster::status room_of(core::token const& who, pools& all, std::size_t sessions,
                       std::size_t entries);
/// Returns how many more closures the streams of the token may queue. Ranks and per-worker values
/// do not count here: they do not drain by themselves, and they are released over these streams.
std::size_t queue_room_of(core::token const& who, pools& all);
/// Checks whether the token's quota allows `more` bytes of values, in addition to its values and
/// blobs.
/// @return RESOURCE_EXHAUSTED, which names the limit.
muster::status room_for_values(core::token const& who, pools& all, std::uint64_t more = 1);
/// Limits the queue of a new session to the quota of the token.
void limit_to(core::token const& who, core::session_spec& spec);

}  // namespace muster::server
