// What clients ask for: open, schedule, seal, cancel, close, delete; join and wait; and of sessions
// that hold values: release, leave and come back.
//
//   attached ──suspend──► on a lease ──resume──► attached
//                             │ nobody came back
//                             ▼
//                    closed: cancelled, then forgotten
//
// A session by calls has no stream: every call of its client renews the lease.
//
// Owned by the coordinator, used within a step; engine thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/core/closures/closure_book.hpp"
#include "server/core/moves/build_orders.hpp"
#include "server/core/moves/closure_intake.hpp"
#include "server/core/moves/closure_life.hpp"
#include "server/core/moves/release_texts.hpp"
#include "server/core/moves/session_ends.hpp"
#include "server/core/moves/session_flow.hpp"
#include "server/core/moves/step_frame.hpp"
#include "server/core/moves/value_keeping.hpp"
#include "server/core/records/closure_table.hpp"
#include "server/core/scheduling/scheduler.hpp"
#include "server/core/sessions/ended_rows.hpp"
#include "server/core/sessions/session_table.hpp"
#include "server/core/values/value_store.hpp"

namespace muster::core {

class session_requests {
 public:
  session_requests(step_frame& step, closure_table& closures, closure_book& book,
                   core::scheduler& scheduler, session_table& sessions, ended_rows& rows,
                   value_store& values, release_texts& texts, session_flow& flow,
                   value_keeping& keeping, closure_life& life, build_orders& building,
                   closure_intake& intake, session_ends& ends)
      : step_(step),
        closures_(closures),
        book_(book),
        scheduler_(scheduler),
        sessions_(sessions),
        rows_(rows),
        values_(values),
        texts_(texts),
        flow_(flow),
        keeping_(keeping),
        life_(life),
        building_(building),
        intake_(intake),
        ends_(ends) {}

  void release_held(release_values const& e);
  void suspend(suspend_session const& e);
  void resume(resume_session const& e);
  void cancel_one(cancel_closure const& e);
  void join(join_session const& e);
  void await(await_value const& e);
  void seal(seal_session const& e);
  void cancel_all(cancel_session const& e);
  void close(close_session const& e);
  void delete_job(delete_session const& e);
  void retry(retry_job& e);
  void open(open_session& e);
  void append(core::schedule& e);

 private:
  void release_one(slot c);
  /// Why a holding session cannot keep n more records; empty when it can.
  std::string no_place_to_hold(session const& s, std::size_t n) const;
  void park_join(session& s, join_session const& e);
  /// Why no job can be made of what did not succeed in this one; empty when one may.
  std::string why_no_retry(session const& s) const;
  /// The closure as it was submitted. `position`: of closures of its job in the new one, by their
  /// order; none for those that are not in it. Empty, or why it cannot be.
  std::string as_submitted(slot c, std::vector<std::uint32_t> const& position,
                           closure_spec& into) const;
  status room_for(session const& s, std::uint64_t waiting, std::size_t n) const;
  /// Whether the session takes these closures now.
  status appendable(session const& s, core::schedule const& e) const;
  /// Takes out those that the job has already, by their positions, and notes their ids.
  status pass_over(session const& s, core::schedule& e, std::vector<closure_id>& known) const;

  step_frame& step_;
  closure_table& closures_;
  closure_book& book_;
  core::scheduler& scheduler_;
  session_table& sessions_;
  ended_rows& rows_;
  value_store& values_;
  release_texts& texts_;
  session_flow& flow_;
  value_keeping& keeping_;
  closure_life& life_;
  build_orders& building_;
  closure_intake& intake_;
  session_ends& ends_;
};

}  // namespace muster::core
