// Calls that wait for a job to end, a session to drain, or a value. A call that need not wait is
// answered immediately. At config::parked_calls_max, further calls are refused with
// RESOURCE_EXHAUSTED. Used only on the engine thread.
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

  /// Answers when the session has ended or drained. Answers DEADLINE_EXCEEDED at the call's
  /// deadline, and NOT_FOUND if the session is unknown.
  void join(join_session const& e);
  /// Answers when the value is available. If necessary, reads the value from disk or rebuilds it.
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
