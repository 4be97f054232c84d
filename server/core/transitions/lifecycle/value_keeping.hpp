// Values of ended closures: kept, dropped to stay within a limit, and told to those who asked.
//
// Owned by the coordinator, used within a step; engine thread only.
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

  /// REQUIRES: its value is in memory, gone, or an error.
  value_reply value_of(slot c) const;
  /// What a resumable session is told of a closure that has ended; why there is no value, where it
  /// is gone.
  outcome outcome_of(slot c) const;
  /// A closure that ran again has ended: who waits for the value gets it, or why there is none.
  void rebuilt(slot b);
  /// The closure has ended and its record stays.
  void keep_value(slot c);
  /// The record stays without its value and says why.
  void drop_value(slot c, release_reason why);
  /// Drops its oldest values until the session holds no more than it may.
  void limit_values(session& s);
  /// The session does not wait any more for this value to be read back.
  void do_not_repeat(session& s, closure_id id);
  /// A value is on the disk, or could not be written.
  void written(value_moved& m);
  /// `why`: there is no value. `for_input`: that is what is said of an input already.
  void tell_readers(closure_id id, value_store::reading reading, blob const* value, std::string why,
                    bool for_input = false);

 private:
  engine_state& core_;
  release_texts& texts_;
  session_flow& flow_;
};

}  // namespace muster::core
