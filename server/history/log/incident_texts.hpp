// Texts and subjects of log events. Pure functions.
#pragma once

#include "server/core/api/objects.hpp"
#include "server/history/log/log_events.hpp"

namespace muster::history {

log_event told(incident const& i, config const& c, time_point now);
log_event told(objects::objects_lost const& l);
log_event drop_event(closure_id value, release_reason why, config const& c);

}  // namespace muster::history
