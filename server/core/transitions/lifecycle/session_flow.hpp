// What keeps a session flowing, whoever touches it: told to hold back and relieved, its lease, the
// time at which its values are too old, that it is looked at again at the end of the step, and that
// people learn when it has failed.
//
// Owned by the coordinator, used within a step; engine thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/core/state/engine_state.hpp"

namespace muster::core {

class session_flow {
 public:
  explicit session_flow(engine_state& core) : core_(core) {}

  /// A sign of the client of a session without a stream; it will wait until `until`.
  void renew_lease(session& s, time_point until);
  /// Sets the alarm to the end of the session's lease.
  void set_lease_alarm(session& s);
  /// Sets the alarm for what it has kept since then; none where values do not age.
  void set_age_alarm(session& s, time_point kept_since);
  /// What follows when nothing of a session is left happens at the end of the step, so that no move
  /// finds its session gone.
  void settle_later(session& s) {
    if ((s.stopping ? drained(s) : idle(s)) &&
        (s.sealed || s.stopping || s.closed || !s.joins.empty()))
      core_.sessions.settle_later(s);
  }
  /// Its queue, or the table of all closures, is as good as full.
  bool has_reason_to_hold_back(session const& s) const;
  /// Tells a session that was held back that there is room, if there is.
  void relieve(session& s);
  /// A closure was forgotten.
  void on_free_place();
  /// The job, or this generation of the session, has ended with its first error.
  void tell_failed(session const& s);

  /// What is counted of the session.
  closure_book::tally const& of(session const& s) const { return core_.book.of(s.number); }
  /// Nothing of it is queued, runs or is to be repeated.
  bool idle(session const& s) const { return of(s).unfinished() + s.repeating == 0; }
  /// Nothing of it is left that its error or a cancel is to end: what has errors of its own goes
  /// on.
  bool drained(session const& s) const {
    return of(s).unfinished() - of(s).own_errors + s.repeating == 0;
  }

 private:
  engine_state& core_;
};

}  // namespace muster::core
