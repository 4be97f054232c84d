// Pages of what workers did and do: what has ended is of the history, what runs is the core's to
// know. Each call does about a millisecond of work and says where to go on. Engine thread only.
#pragma once

#include "server/core/coordinator.hpp"
#include "server/history/history.hpp"

namespace muster::history {

/// What workers did, from span number `from` on: up to `limit` spans; looks at 20,000 a call.
span_page spans(history const& h, activity_filter const& f, std::uint64_t from, std::size_t limit,
                time_point now);
/// The minutes of the last hour, by lane, of up to 200 lanes a call, with what runs now.
minute_page minutes(history const& h, coordinator const& core, activity_filter const& f,
                    std::optional<lane_key> const& after, time_point now);
/// What runs now, by lane, of up to 2,000 lanes a call.
running_page running(history const& h, coordinator const& core, activity_filter const& f,
                     std::optional<lane_key> const& after);

}  // namespace muster::history
