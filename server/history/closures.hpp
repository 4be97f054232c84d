// Views of closures, whoever keeps them: the core as long as there is a record, then history as
// long as there is a row. Each call does about a millisecond of work. Engine thread only.
#pragma once

#include "server/core/api/explanation.hpp"
#include "server/core/api/listings.hpp"
#include "server/core/coordinator.hpp"
#include "server/history/history.hpp"

namespace muster::history {

/// `of`: a session that may have a row of it, when its record is gone. Errors: NOT_FOUND.
result<closure_view> closure(history const& h, coordinator const& core, closure_id id,
                             session_id of = {});
/// Why the closure waits, moved or failed, as data.
result<explanation> explain(history const& h, coordinator const& core, closure_id id,
                            time_point now, session_id of = {});
/// Those of `ids` that are known yet, in the same order.
std::vector<closure_view> closures(history const& h, coordinator const& core, session_id of,
                                   std::vector<closure_id> const& ids);
/// Looks on from `from`, as far as one step goes: records first, then rows.
result<closure_look> look(history const& h, coordinator const& core, closure_query const& q,
                          closure_cursor from, closure_bounds const& within);
/// The core's, with what rows take.
overview_view overview(history const& h, coordinator const& core, time_point now);

}  // namespace muster::history
