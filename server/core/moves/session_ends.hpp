// How sessions and jobs drain, finish and are forgotten, and which go first when there is too much.
//
// Owned by the coordinator, used within a step; engine thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/core/closures/closure_book.hpp"
#include "server/core/moves/build_orders.hpp"
#include "server/core/moves/closure_life.hpp"
#include "server/core/moves/release_texts.hpp"
#include "server/core/moves/session_flow.hpp"
#include "server/core/moves/step_frame.hpp"
#include "server/core/moves/value_keeping.hpp"
#include "server/core/policies/transient_failures.hpp"
#include "server/core/records/closure_table.hpp"
#include "server/core/scheduling/scheduler.hpp"
#include "server/core/sessions/ended_rows.hpp"
#include "server/core/sessions/session_table.hpp"
#include "server/core/values/value_store.hpp"

namespace muster::core {

class session_ends {
 public:
  session_ends(step_frame& step, closure_table& closures, closure_book& book,
               core::scheduler& scheduler, session_table& sessions, ended_rows& rows,
               value_store& values, transient_failures& failures, stateful_tasks& stateful,
               release_texts& texts, session_flow& flow, value_keeping& keeping, closure_life& life,
               build_orders& building)
      : step_(step),
        closures_(closures),
        book_(book),
        scheduler_(scheduler),
        sessions_(sessions),
        rows_(rows),
        values_(values),
        failures_(failures),
        stateful_(stateful),
        texts_(texts),
        flow_(flow),
        keeping_(keeping),
        life_(life),
        building_(building) {}

  void lease_rang(session& s);
  /// What `drain` and `settle` are told; takes the error.
  join_reply collect(session& s);
  void expire_session(session& s);
  join_reply joined(session const& s) const;
  void age_rang(session_id id);
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

  step_frame& step_;
  closure_table& closures_;
  closure_book& book_;
  core::scheduler& scheduler_;
  session_table& sessions_;
  ended_rows& rows_;
  value_store& values_;
  transient_failures& failures_;
  stateful_tasks& stateful_;
  release_texts& texts_;
  session_flow& flow_;
  value_keeping& keeping_;
  closure_life& life_;
  build_orders& building_;
};

}  // namespace muster::core
