// What the engine knows of a closure's or a job's log, for REST and the WebSocket alike. Engine
// thread.
#pragma once

#include <optional>

#include "server/hub/hub.hpp"

namespace muster::web {

struct log_state {
  server::log_page page;
  bool ended = false;  // no further line can come
};

/// The job that a closure belongs to: known to the core, or of a stream that keeps no records but
/// has logged. NOT_FOUND otherwise.
muster::result<server::log_target> log_target_of(server::hub& h, core::closure_id closure);
muster::result<server::log_target> log_target_of(server::hub& h, core::session_id job);

/// Lines after `seq`, at most `limit`; or the newest `limit` when `newest`. NOT_FOUND: the job is
/// forgotten.
muster::result<log_state> look_at_log(server::hub& h, server::log_target of, std::uint64_t seq,
                                      std::size_t limit, bool newest);

}  // namespace muster::web
