// Functions for sessions that all transitions use. Used only on the engine thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/core/state/engine_state.hpp"

namespace muster::core {

class session_flow {
 public:
  explicit session_flow(engine_state& core) : core_(core) {}

  /// Renews the lease of a session. Must be called after a message from a client without a stream.
  /// @param until time at which the client's current call ends.
  void renew_lease(session& s, time_point until);
  void set_lease_alarm(session& s);
  void set_age_alarm(session& s, time_point kept_since);
  /// Schedules the session to be settled at the end of the step if it has no closures left.
  /// Settling is deferred so that no session disappears during a transition.
  void settle_later(session& s) {
    if ((s.stopping ? drained(s) : idle(s)) &&
        (s.sealed || s.stopping || s.closed || !s.joins.empty()))
      core_.sessions.settle_later(s);
  }
  bool has_reason_to_hold_back(session const& s) const;
  void resume_if_room(session& s);
  void on_free_place();
  void report_failed(session const& s);

  closure_book::tally const& of(session const& s) const { return core_.book.of(s.number); }
  bool idle(session const& s) const { return of(s).unfinished() + s.repeating == 0; }
  /// Returns whether the session has no closures left that its error or a cancellation must end.
  /// Closures with own_error are ignored.
  bool drained(session const& s) const {
    return of(s).unfinished() - of(s).own_errors + s.repeating == 0;
  }

 private:
  engine_state& core_;
};

}  // namespace muster::core
