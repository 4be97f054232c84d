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
/// RESOURCE_EXHAUSTED: with so many more sessions and closures the token would have more than its
/// limits. Walks all sessions where it has any.
muster::status room_of(core::token const& who, pools& all, std::size_t sessions,
                       std::size_t closures);
/// All streams, calls and jobs of the token together have queued what it may. As room_of.
bool is_queue_full(core::token const& who, pools& all);
/// RESOURCE_EXHAUSTED: they keep all the bytes of values that it may. As room_of.
muster::status room_for_values(core::token const& who, pools& all);
/// A stream of the token queues no more than the token may.
void limit_to(core::token const& who, core::session_spec& spec);

}  // namespace muster::server
