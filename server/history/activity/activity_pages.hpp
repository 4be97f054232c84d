// Pages of finished and running executions. Each call takes about 1 ms and returns the position to
// continue from. Used only on the engine thread.
#pragma once

#include "server/core/coordinator.hpp"
#include "server/history/history.hpp"

namespace muster::history {

/// Visits at most 20,000 spans.
span_page spans(history const& h, activity_filter const& f, std::uint64_t from, std::size_t limit,
                time_point now);
/// Returns the last hour by lane and minute, including running executions, for at most 200 lanes.
minute_page minutes(history const& h, coordinator const& core, activity_filter const& f,
                    std::optional<lane_key> const& after, time_point now);
/// Returns running executions by lane, for at most 2,000 lanes.
running_page running(history const& h, coordinator const& core, activity_filter const& f,
                     std::optional<lane_key> const& after);

}  // namespace muster::history
