// History of a cluster: independent listeners for changes of the core. The hub calls `fold` after
// each step of the core, before it delivers results. Path of a change:
//
//   coordinator::step ──► effects::changes ──► names ──► activity
//                                          │             rows
//                                          └─► metrics, jobs, log, workers
//
// The history can contain changes that are not durable yet, so its views must wait for durability
// like the core's views. Owned by a cluster's hub; used only on the engine thread.
#pragma once

#include "server/core/api/effects.hpp"
#include "server/history/activity/activity_log.hpp"
#include "server/history/jobs/job_lists.hpp"
#include "server/history/jobs/job_times.hpp"
#include "server/history/log/log_events.hpp"
#include "server/history/metrics/closure_meter.hpp"
#include "server/history/metrics/program_meter.hpp"
#include "server/history/names.hpp"
#include "server/history/rows/session_rows.hpp"
#include "server/history/workers/worker_durations.hpp"

namespace muster::history {

struct recorded_span {
  lane_key lane;
  names::function function;  // its name is empty if there are several functions
  span_view what;
};

class history {
 public:
  /// `c` and `wide` must outlive the history. Nothing is recorded before `start`.
  history(config const& c, server_wide& wide, time_point start);
  history(history const&) = delete;

  /// @pre All earlier steps have been folded in order.
  void fold(effects const& fx, time_point now) {
    if (!fx.changes.functions.empty()) names_.fold(fx.changes, now);
    activity_.fold(fx.changes, names_, now);
    rows_.fold(fx.changes);
    jobs_.fold(fx.changes);
    times_.fold(fx.changes, names_);
    durations_.fold(fx.changes, names_, now);
    log_.fold(fx.changes, now);
    meter_.fold(fx, now);
    programs_.fold(fx.changes);
  }

  /// Restores a span from an earlier server process. Spans must be restored oldest first.
  /// @pre No step has been folded.
  void restore(recorded_span const& s) {
    auto v = s.what;
    auto const ended = v.started + v.lasted;
    v.function = s.function.name.empty() ? several_functions : names_.of(s.function, ended);
    activity_.restore(s.lane, v);
    durations_.restore(s.lane, v);
  }

  names const& named() const { return names_; }
  activity_log const& activity() const { return activity_; }
  session_rows const& rows() const { return rows_; }
  job_lists const& jobs() const { return jobs_; }
  job_times const& times() const { return times_; }
  worker_durations& durations() { return durations_; }
  std::vector<session_id> take_ended_jobs() { return jobs_.take_ended(); }
  log_events const& log() const { return log_; }
  closure_metrics const& metrics() const { return meter_.metrics(); }
  program_totals const& programs() const { return programs_.totals(); }

  std::string invalid() const {
    for (auto const& wrong :
         {activity_.invalid(), rows_.invalid(), meter_.invalid(), log_.invalid()})
      if (!wrong.empty()) return wrong;
    return {};
  }

 private:
  activity_log activity_;
  names names_;
  session_rows rows_;
  job_lists jobs_;
  job_times times_;
  worker_durations durations_;
  closure_meter meter_;
  program_meter programs_;
  log_events log_;
};

}  // namespace muster::history
