// The steps of the ranks of a hub's programs: what workers report of their own ranks, and nobody
// else's, goes to the table of the doctor; and the steps after which programs stop, which are
// agreed on with their workers.
//
//   POST …/stop {"at_step"} ─┐                              ┌─► program_steps_said: preempted, none
//   a worker leaves ─────────┼─► step_stops ◄─► workers ────┼─► program_wish::stop_at
//   a deadline's notice ─────┘                              └─► who has asked
//
// What somebody has asked for the core keeps: it outlives this process, and an attempt that ends
// before the step, since the ranks of the next one agree again.
//
// Owned by a hub; engine thread only. Limits: those of the table and of the agreements.
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
  /// REQUIRES: `of` outlives it.
  explicit rank_steps(hub& of);

  /// Steps that an earlier process of the server has recorded, the oldest first. Workers report
  /// some of them again, and those that ended while no server ran. REQUIRES: nothing was reported.
  void restore(doctor::step_segment const& recorded);
  /// Ranks that are not this worker's, or not of the last attempt, are passed over.
  void reported(core::stream_id stream, doctor::step_table::report what);
  void answered(core::stream_id stream, doctor::steps_held const& what) {
    stops_.answered(stream, what);
    perform();
  }
  /// Ranks have ended.
  void ended(core::rank_reports const& reports);
  /// A worker has come; ranks that it holds may not know yet where they stop.
  void attached(core::stream_id stream);
  /// Maybe from inside of a step: what follows comes with follow().
  void gone(core::stream_id stream) { stops_.gone(stream); }
  /// The consequences of a step of the core for steps of ranks.
  struct changes {
    std::vector<core::stream_id> leaving;  // workers
    std::vector<attempt> noticed;          // attempts that are to end after a step
    std::vector<core::program_id> running, forgotten;
  };
  static changes changes_of(core::effects const& fx);
  /// REQUIRES: the effects of the step are delivered.
  void apply(changes const& c);
  /// Goes on with agreements whose time is over.
  void tick(core::time_point now);
  core::time_point due() const { return stops_.due(); }

  /// All ranks are to stop after the same step, not before `least`. Errors: NOT_FOUND;
  /// FAILED_PRECONDITION, it does not run, or says no steps; UNAVAILABLE; RESOURCE_EXHAUSTED.
  void stop(core::program_id program, std::uint64_t least, doctor::step_stops::handler done);

  /// Sets what is known. `slow_ones`: also who is behind, which takes a while for many ranks.
  void show(core::program_view& p, bool slow_ones) const;
  void show(core::program_id program, std::uint32_t attempt,
            std::vector<core::rank_view>& ranks) const;
  doctor::step_table const& table() const { return table_; }
  /// When they made their steps.
  doctor::step_log& log() { return log_; }

 private:
  /// Leaves of what a rank has done only what is not recorded already.
  void drop_recorded(attempt const& of, std::vector<doctor::step_span>& told) const;
  /// Of ranks that are alive; one that is away has none.
  std::set<core::stream_id> workers_of(attempt const& of) const;
  void leaves(core::stream_id stream);
  /// What the core has kept of an agreement of this attempt.
  void recall(core::program_view const& p);
  /// What was asked of an earlier attempt is agreed on for this one, once its ranks say steps.
  void ask_again(core::program_id program);
  /// What was decided while a step may have been going on.
  void perform();

  hub& hub_;
  doctor::step_table table_;
  doctor::step_log log_;
  doctor::step_stops stops_;
  /// The last step of each rank in the records of an earlier process. Limit: the ranks of programs
  /// that had not ended then.
  std::map<attempt, std::map<std::uint32_t, doctor::step_span>> recorded_;
  std::vector<core::program_steps_said> decided_;  // to be said to the core
};

}  // namespace muster::server
