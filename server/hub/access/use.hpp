// What a caller may do with what is there: whose a session is, which functions need leave, how much
// one token may have. Engine thread.
#pragma once

#include <cstddef>
#include <string_view>

#include "server/core/access/token.hpp"
#include "server/core/api/model.hpp"
#include "server/hub/pools.hpp"

namespace muster::server {

/// PERMISSION_DENIED: it is another submitter's. OK for one that does not exist.
muster::status check_owner(core::caller const& who, hub& h, core::session_id session);
/// PERMISSION_DENIED: the function runs programs on workers, which the token does not allow.
muster::status check_function(core::caller const& who, std::string_view function);
/// Checks whether the token may have so many more sessions and so many more entries of its queue:
/// closures, ranks of programs, or per-worker values. Walks all sessions if the token has limits.
/// @return RESOURCE_EXHAUSTED, which names the limit.
muster::status room_of(core::token const& who, pools& all, std::size_t sessions,
                       std::size_t entries);
/// Returns how many more closures the streams of the token may queue. Ranks and per-worker values
/// do not count here: they leave no room by themselves, and their releases come over these streams.
std::size_t queue_room_of(core::token const& who, pools& all);
/// Checks whether the token may have `more` bytes of values, besides those of its values and blobs.
/// @return RESOURCE_EXHAUSTED, which names the limit.
muster::status room_for_values(core::token const& who, pools& all, std::uint64_t more = 1);
/// A stream of the token queues no more than the token may.
void limit_to(core::token const& who, core::session_spec& spec);

}  // namespace muster::server
