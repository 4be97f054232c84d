// Keeps the values of finished closures, drops them at a limit, and sends them to requesters. Used
// only on the engine thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/core/state/engine_state.hpp"
#include "server/core/transitions/lifecycle/release_texts.hpp"
#include "server/core/transitions/lifecycle/session_flow.hpp"

namespace muster::core {

class value_keeping {
 public:
  value_keeping(engine_state& core, release_texts& texts, session_flow& flow)
      : core_(core), texts_(texts), flow_(flow) {}

  /// REQUIRES: the value is in memory, dropped, or an error.
  value_reply value_of(slot c) const;
  /// Returns the closure's outcome; if the value was dropped, the outcome contains the reason.
  outcome outcome_of(slot c) const;
  /// Ends a rebuild: sends the value, or the reason why it is missing, to the waiting readers.
  void rebuilt(slot b);
  void keep_value(slot c);
  void drop_value(slot c, release_reason why);
  void limit_values(session& s);
  /// Cancels the session's wait for this value to be read back.
  void do_not_repeat(session& s, closure_id id);
  void written(value_moved& m);
  /// @param why reason why the value is missing; empty if `value` is set.
  /// @param for_input whether `why` is already worded as an input failure.
  void notify_readers(closure_id id, value_store::reading reading, blob const* value,
                      std::string why, bool for_input = false);

 private:
  engine_state& core_;
  release_texts& texts_;
  session_flow& flow_;
};

}  // namespace muster::core
