// Sessions that keep the outcomes for their client: what it releases, and how it leaves and comes
// back.
//
//   attached ──suspend──► on a lease ──resume──► attached
//                             │ nobody came back
//                             ▼
//                    closed: cancelled, then forgotten
//
// A unary session has no stream: every call of its client renews the lease.
//
// Owned by the coordinator, used within a step; engine thread only.
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

  /// Forgets what has ended and was told of; drops the value of the rest once it ends.
  void release_held(release_values const& e);
  /// The stream is gone: the session waits on a lease. REQUIRES: the session is a resumable one.
  void suspend(suspend_session const& e);
  /// The client is back: releases what it does not name, and answers with the failure it missed.
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
