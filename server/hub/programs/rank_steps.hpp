// Steps of the ranks of a hub's programs. Stores the steps that workers report, and agrees with
// workers on the step at which all ranks of a program stop. Messages:
//
//   POST …/stop {"at_step"} ─┐                              ┌─► program_steps_reported
//   a worker is drained ─────┼─► step_stops ◄─► workers ────┼─► program_command::stop_at
//   a deadline's notice ─────┘                              └─► the caller of stop()
//
// The core stores the requested step, so that it survives this process and an attempt that ends
// earlier: the ranks of the next attempt agree again. Owned by a hub; used only on the engine
// thread.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "server/core/api/effects.hpp"
#include "server/core/api/program_views.hpp"
#include "server/doctor/step_log.hpp"
#include "server/doctor/step_stops.hpp"
#include "server/doctor/steps.hpp"

namespace muster::server {

class hub;

class rank_steps {
 public:
  using attempt = std::pair<core::program_id, std::uint32_t>;
  explicit rank_steps(hub& of);

  /// Restores steps from an earlier server process, oldest first. Workers can report these steps
  /// again. REQUIRES: nothing has been reported.
  void restore(doctor::step_segment const& recorded);
  /// Ignores ranks of other workers or earlier attempts.
  void record(core::stream_id stream, doctor::step_table::report what);
  void deliver(core::stream_id stream, doctor::steps_held const& what) {
    stops_.answered(stream, what);
    send_decisions();
  }
  void record_ends(core::rank_reports const& reports);
  /// Sends the agreed steps to a worker that has reconnected.
  void resume_worker(core::stream_id stream);
  /// Can be called from within a step: apply() sends the decisions.
  void forget_worker(core::stream_id stream) {
    stops_.on_worker_lost(stream);
    draining_.erase(stream);
  }
  struct changes {
    std::vector<core::stream_id> drained;
    std::vector<attempt> noticed;  // attempts that must end after a step
    std::vector<core::program_id> running, forgotten;
  };
  static changes changes_of(core::effects const& fx);
  /// REQUIRES: the effects of the step have been delivered.
  void apply(changes const& c);
  void tick(core::time_point now);
  core::time_point due() const { return stops_.due(); }

  /// Stops all ranks at the same step, at `least` or later. Fails with NOT_FOUND if the program is
  /// unknown, FAILED_PRECONDITION if it does not run or reports no steps, UNAVAILABLE if a worker
  /// does not answer, or RESOURCE_EXHAUSTED at a limit.
  void stop(core::program_id program, std::uint64_t least, doctor::step_stops::handler done);

  /// If `slow_ranks` is set, also sets the slow ranks, which is expensive for many ranks.
  void fill(core::program_view& p, bool slow_ranks) const;
  void fill(core::program_id program, std::uint32_t attempt,
            std::vector<core::rank_view>& ranks) const;
  doctor::step_table const& table() const { return table_; }
  doctor::step_log& log() { return log_; }

 private:
  void drop_recorded(attempt const& of, std::vector<doctor::step_span>& spans) const;
  /// Returns the workers of live ranks; no stream stands for a disconnected worker.
  std::set<core::stream_id> workers_of(attempt const& of) const;
  void drain_worker(core::stream_id stream);
  /// Lets the ranks agree on a last step if the attempt has a rank on a worker that leaves.
  void preempt(core::stream_id leaving, attempt const& of);
  void recall_agreement(core::program_view const& p);
  /// Agrees again on a stop that was requested in an earlier attempt.
  void renew_agreement(core::program_id program);
  void send_decisions();

  hub& hub_;
  doctor::step_table table_;
  doctor::step_log log_;
  doctor::step_stops stops_;
  std::set<core::stream_id> draining_;  // connected workers that were asked to leave
  /// For each rank, the last step in the records of an earlier server process. Limited to programs
  /// that were unfinished at that time.
  std::map<attempt, std::map<std::uint32_t, doctor::step_span>> recorded_;
  std::vector<core::program_steps_reported>
      decisions_;  // decisions made within a step, to be sent to the core
};

}  // namespace muster::server
