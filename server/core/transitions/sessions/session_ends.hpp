// Drains, finishes and removes sessions and jobs; at a limit, removes the oldest ended session or
// job. Used only on the engine thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/core/state/engine_state.hpp"
#include "server/core/transitions/lifecycle/lifecycle.hpp"
#include "server/core/transitions/lifecycle/release_texts.hpp"
#include "server/core/transitions/lifecycle/session_flow.hpp"
#include "server/core/transitions/lifecycle/value_keeping.hpp"
#include "server/core/transitions/placing/build_orders.hpp"

namespace muster::core {

class session_ends {
 public:
  session_ends(engine_state& core, release_texts& texts, session_flow& flow, value_keeping& keeping,
               lifecycle& life, build_orders& building)
      : core_(core),
        texts_(texts),
        flow_(flow),
        keeping_(keeping),
        life_(life),
        building_(building) {}

  /// Stops a session whose client has left, unless its lease was renewed or it runs detached.
  void on_lease_expired(session& s);
  /// Returns the reply to `drain` and `settle`, and clears the error in that reply.
  join_reply collect(session& s);
  void expire_session(session& s);
  join_reply joined(session const& s) const;
  /// Removes a session that ended long ago, or old values of an unfinished session.
  void on_age_limit(session_id id);
  /// Drains, finishes or ends a session with no closures left. Otherwise does nothing.
  void settle(session& s);
  /// REQUIRES: the session has no unfinished closures.
  void release_session(session& s, release_reason why);
  /// These two functions remove the oldest finished job or streaming session, and return false if
  /// no job or streaming session has finished.
  bool forget_oldest_job(release_reason why);
  bool forget_oldest_ended();
  bool over_a_limit() const;
  /// Drops or spills values and removes finished jobs, oldest first, until they are within the
  /// limits.
  void keep_within_limits();

 private:
  void answer_drained(session& s);
  void finish_job(session& s);
  /// Keeps the session's record for display, or deletes it immediately.
  void end_session(session& s);
  /// Releases the session's closures, values and queues, but keeps the session itself.
  void release_contents(session& s, release_reason why);
  void clear(time_point& alarm, alarm_kind kind, session const& s);
  bool drop_oldest_in_memory();

  engine_state& core_;
  release_texts& texts_;
  session_flow& flow_;
  value_keeping& keeping_;
  lifecycle& life_;
  build_orders& building_;
};

}  // namespace muster::core
