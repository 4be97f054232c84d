// Reads the log of a closure or a job, for REST and the WebSocket. Must be used on the engine
// thread.
#pragma once

#include <optional>

#include "server/hub/hub.hpp"

namespace muster::web {

struct log_state {
  server::log_page page;
  bool ended = false;
};

/// Returns the log of a closure, even if its record was removed but it has logged. Otherwise
/// returns NOT_FOUND.
muster::result<server::log_target> log_target_of(server::hub& h, core::closure_id closure);
muster::result<server::log_target> log_target_of(server::hub& h, core::session_id job);

/// Returns at most `limit` lines after `seq`, or the newest `limit` lines if `newest` is set.
/// Returns NOT_FOUND if the record of the job was removed.
muster::result<log_state> read_log_page(server::hub& h, server::log_target of, std::uint64_t seq,
                                        std::size_t limit, bool newest);

}  // namespace muster::web
