// What becomes of a program: which end of a rank is the cause of what, when all others are stopped,
// whether it is tried again, and when it has ended.
//
// Owned by the controller, used within a step.
#pragma once

#include <string>
#include <vector>

#include "base/status.hpp"
#include "server/core/programs/attempts.hpp"
#include "server/core/programs/program_table.hpp"

namespace muster::core::programs {

/// Returns how long the next attempt waits after so many attempts in a row that ended quickly: not
/// at all after the first two, then 1 s, twice as long each time, at most 30 s.
duration pause_after_quick_ends(std::uint32_t quick_ends);

class course {
 public:
  /// All outlive it.
  course(program_table& table, attempts& bodies, program_alarms& deadlines, output& out)
      : table_(table), attempts_(bodies), deadlines_(deadlines), out_(out) {}

  /// Its state is said, also of a new one; `end`: how its attempt has ended just now.
  void enter(program& p, program_state s, program_end end = {});
  /// The ranks of an attempt are ordered.
  void begun(program& p);
  /// REQUIRES: the rank is alive.
  void started(program& p, std::uint32_t rank, std::uint32_t pid, time_point now);
  void rank_dead(program& p, std::uint32_t rank, rank_end const& how, time_point now);
  /// Errors: FAILED_PRECONDITION, it is too late, or too early, for that.
  status wish(program& p, change_program const& what, time_point now);
  void deadline(program& p, time_point now);
  /// Its ranks are about to end by themselves, and it begins again then.
  void preempt(program& p, std::string why);
  /// Ranks that were to end by a step are sent a signal.
  void give_up_steps(program& p, time_point now);
  void hangs(program& p, hang const& what, time_point now);
  void moves_again(program& p);

 private:
  void judge(program& p, std::uint32_t rank, rank_end const& how, time_point now);
  static void note_end_of_failed(program& p, std::uint32_t rank, rank_end const& how);
  /// The attempt has failed for this; it is stopped, and another follows where one may.
  void fail(program& p, program_cause why, program_end as, time_point now);
  void end_attempt(program& p, goal then, time_point now);
  void close(program& p, time_point now);
  void finish(program& p, program_state s, time_point now, program_end last = {});
  status cancel(program& p, goal then, std::string why, time_point now);
  status restart(program& p, time_point now);
  status stop_at(program& p, agreed_stop const& at);
  void forget(program_id id);

  program_table& table_;
  attempts& attempts_;
  program_alarms& deadlines_;
  output& out_;
};

}  // namespace muster::core::programs
