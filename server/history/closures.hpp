// Views of closures, from the core's records or otherwise from the history's rows. Each call takes
// about 1 ms. Used only on the engine thread.
#pragma once

#include "server/core/api/explanation.hpp"
#include "server/core/api/listings.hpp"
#include "server/core/coordinator.hpp"
#include "server/history/history.hpp"

namespace muster::history {

/// Searches the rows of session `of` if the core has no record. Returns NOT_FOUND if there is no
/// row either.
result<closure_view> closure(history const& h, coordinator const& core, closure_id id,
                             session_id of = {});
result<explanation> explain(history const& h, coordinator const& core, closure_id id,
                            time_point now, session_id of = {});
/// Returns the known closures among `ids`, in the order of `ids`.
std::vector<closure_view> closures(history const& h, coordinator const& core, session_id of,
                                   std::vector<closure_id> const& ids);
/// Continues a search at `from` by one step. Records are searched before rows.
result<search_step> search_closures(history const& h, coordinator const& core,
                                    closure_query const& q, closure_cursor from,
                                    closure_bounds const& within);
overview_view overview(history const& h, coordinator const& core, time_point now);

}  // namespace muster::history
