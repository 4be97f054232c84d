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

  void on_lease_expired(session& s);
  /// What `drain` and `settle` are told; takes the error.
  join_reply collect(session& s);
  void expire_session(session& s);
  join_reply joined(session const& s) const;
  void on_age_limit(session_id id);
  void settle(session& s);
  void release_session(session& s, release_reason why);
  bool forget_oldest_job(release_reason why);
  bool forget_oldest_ended();
  bool over_a_limit() const;
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
