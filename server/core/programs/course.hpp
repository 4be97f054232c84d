// Life cycle of a program: determines causes of failure, stops the other ranks, and retries or
// finishes the program. Owned by the controller.
#pragma once

#include <string>
#include <vector>

#include "base/status.hpp"
#include "server/core/programs/attempts.hpp"
#include "server/core/programs/program_table.hpp"

namespace muster::core::programs {

/// Returns the delay after `quick_ends` consecutive quick attempts: 0 for up to two attempts, then
/// 1 s, doubling up to 30 s.
duration pause_after_quick_ends(std::uint32_t quick_ends);

class course {
 public:
  course(program_table& table, attempts& bodies, program_alarms& alarms, output& out)
      : table_(table), attempts_(bodies), alarms_(alarms), out_(out) {}

  /// Sets and publishes the state. `end` is the result of the current attempt, if it has just
  /// ended.
  void enter(program& p, program_state s, program_end end = {});
  void begun(program& p);
  /// REQUIRES: the rank is alive.
  void started(program& p, std::uint32_t rank, std::uint32_t pid, time_point now);
  void rank_dead(program& p, std::uint32_t rank, rank_end const& how, time_point now);
  /// Fails with FAILED_PRECONDITION if the program's state does not allow the change.
  status wish(program& p, change_program const& what, time_point now);
  void deadline(program& p, time_point now);
  /// Restarts the program after its ranks have ended by themselves.
  void preempt(program& p, std::string why);
  /// Sends signals to ranks that were expected to end after a step.
  void give_up_steps(program& p, time_point now);
  void hangs(program& p, hang const& what, time_point now);
  void progress_resumed(program& p);
  /// Names a worker as the cause of a failed attempt if the worker was disconnected when the rank
  /// failed, and has not returned.
  void blame_lost_worker(program& p, time_point now);

 private:
  void judge(program& p, std::uint32_t rank, rank_end const& how, time_point now);
  void judge_failed(program& p, std::uint32_t rank, rank_end const& how, time_point now);
  static void note_end_of_failed(program& p, std::uint32_t rank, rank_end const& how);
  /// Stops the failed attempt. Another attempt follows if the program can still be restarted.
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
  program_alarms& alarms_;
  output& out_;
};

}  // namespace muster::core::programs
