// Values of ended closures: kept, dropped to stay within a limit, and told to those who asked.
//
// Owned by the coordinator, used within a step; engine thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/core/moves/release_texts.hpp"
#include "server/core/moves/session_flow.hpp"
#include "server/core/moves/step_frame.hpp"
#include "server/core/records/closure_table.hpp"
#include "server/core/sessions/session_table.hpp"
#include "server/core/values/value_store.hpp"

namespace muster::core {

class value_keeping {
 public:
  value_keeping(step_frame& step, closure_table& closures, session_table& sessions,
                value_store& values, release_texts& texts, session_flow& flow)
      : step_(step),
        closures_(closures),
        sessions_(sessions),
        values_(values),
        texts_(texts),
        flow_(flow) {}

  /// REQUIRES: its value is in memory, gone, or an error.
  value_reply value_of(slot c) const;
  outcome outcome_of(slot c) const;
  void rebuilt(slot b);
  /// The closure has ended and its record stays.
  void keep_value(slot c);
  /// The record stays without its value and says why.
  void drop_value(slot c, release_reason why);
  void limit_values(session& s);
  void do_not_repeat(session& s, closure_id id);
  void written(value_moved& m);
  /// `why`: there is no value.
  void tell_readers(closure_id id, value_store::reading reading, blob const* value,
                    std::string why);

 private:
  step_frame& step_;
  closure_table& closures_;
  session_table& sessions_;
  value_store& values_;
  release_texts& texts_;
  session_flow& flow_;
  time_point dropped_remark_at_{};  // no other remark about drops before a minute after
};

}  // namespace muster::core
