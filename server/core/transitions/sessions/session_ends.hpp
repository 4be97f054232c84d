// How sessions and jobs drain, finish and are forgotten, and which go first when there is too much.
//
// Owned by the coordinator, used within a step; engine thread only.
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

  /// Its client has not come back: the session stops, unless its lease was renewed or it works on
  /// detached.
  void on_lease_expired(session& s);
  /// What `drain` and `settle` are told; takes the error.
  join_reply collect(session& s);
  /// The job's deadline has passed: it fails and stops.
  void expire_session(session& s);
  /// What a call that waits for the session is told: whether it has ended, and its first error.
  join_reply joined(session const& s) const;
  /// What is too old goes: the session, if it has ended, else the values it has held for too long.
  void on_age_limit(session_id id);
  /// Drains, finishes or ends a session of which nothing is left to run. Does nothing to others.
  void settle(session& s);
  /// The session goes with all that it has. REQUIRES: none of its closures is unfinished.
  void release_session(session& s, release_reason why);
  /// Forgets the job that ended first. False: none has ended.
  bool forget_oldest_job(release_reason why);
  /// The same of sessions that are kept to be looked at.
  bool forget_oldest_ended();
  /// Whether values or ended jobs are more than the configuration allows.
  bool over_a_limit() const;
  /// Drops or spills values and forgets ended jobs, the oldest first, until they are not.
  void keep_within_limits();

 private:
  void answer_drained(session& s);
  void finish_job(session& s);
  /// Its client is gone: it stays to be looked at, or goes at once.
  void end_session(session& s);
  /// What it holds and waits for goes; the session itself and its rows stay.
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
