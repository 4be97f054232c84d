// Calls that wait for a job to end, for a session to drain or for a value, and are answered at once
// when there is nothing to wait for. Limit: config::parked_calls_max; a call beyond it is refused
// with RESOURCE_EXHAUSTED.
//
// Owned by the coordinator, used within a step; engine thread only.
#pragma once

#include "server/core/transitions/admission/admission.hpp"
#include "server/core/transitions/sessions/session_ends.hpp"

namespace muster::core {

class parked_calls {
 public:
  parked_calls(engine_state& core, release_texts& texts, session_flow& flow, value_keeping& keeping,
               admission& admitting, session_ends& ends)
      : core_(core),
        texts_(texts),
        flow_(flow),
        keeping_(keeping),
        admission_(admitting),
        ends_(ends) {}

  /// Answered when the job has ended or the stream has drained, with DEADLINE_EXCEEDED at the
  /// call's deadline, or NOT_FOUND.
  void join(join_session const& e);
  /// Answered with the value once there is one: read back from the disk or made again if need be.
  void await(await_value const& e);

 private:
  void park_join(session& s, join_session const& e);

  engine_state& core_;
  release_texts& texts_;
  session_flow& flow_;
  value_keeping& keeping_;
  admission& admission_;
  session_ends& ends_;
};

}  // namespace muster::core
