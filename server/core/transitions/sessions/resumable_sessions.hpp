// Handles sessions that keep outcomes for their client: releases, suspension and resumption.
// States:
//
//   attached ──suspend──► on a lease ──resume──► attached
//                             │ lease expired
//                             ▼
//                    closed: cancelled, then forgotten
//
// A unary session has no stream: every call of its client renews the lease. Used only on the engine
// thread.
#pragma once

#include "server/core/transitions/placing/build_orders.hpp"

namespace muster::core {

class resumable_sessions {
 public:
  resumable_sessions(engine_state& core, release_texts& texts, session_flow& flow,
                     value_keeping& keeping, lifecycle& life, build_orders& building)
      : core_(core),
        texts_(texts),
        flow_(flow),
        keeping_(keeping),
        life_(life),
        building_(building) {}

  /// Deletes finished closures whose outcomes were sent. Marks unfinished closures, so that their
  /// values are dropped when the closures finish.
  void release_held(release_values const& e);
  /// Starts the lease of a session whose stream has ended. REQUIRES: the session is resumable.
  void suspend(suspend_session const& e);
  /// Attaches the client again. Releases the closures that the client does not name, and replies
  /// with the failure that the client missed.
  void resume(resume_session const& e);

 private:
  void release_one(slot c);

  engine_state& core_;
  release_texts& texts_;
  session_flow& flow_;
  value_keeping& keeping_;
  lifecycle& life_;
  build_orders& building_;
};

}  // namespace muster::core
