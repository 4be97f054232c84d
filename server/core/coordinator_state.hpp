// What the coordinator is made of: the sub-models, which own the state and do not know each other,
// and the moves, which know exactly those that they need. Private to coordinator*.cpp and its
// tests.
//
//   coordinator      routes an event to a move, ends the step
//   moves/           hand_out  worker_answers  worker_events  session_requests  session_ends
//                    closure_intake  build_orders  closure_life  value_keeping  session_flow
//                    (each may use those after it)
//   durable/         what a step changed as facts, and how jobs begin again with them
//   sub-models       closures/ scheduling/ workers/ sessions/ values/ per_worker/ policies/
//                    activity/
//   below them       records/ common/ api/
#pragma once

#include "server/core/coordinator.hpp"
#include "server/core/durable/job_facts.hpp"
#include "server/core/durable/job_restart.hpp"
#include "server/core/moves/explainer.hpp"
#include "server/core/moves/hand_out.hpp"
#include "server/core/moves/session_requests.hpp"
#include "server/core/moves/version_watch.hpp"
#include "server/core/moves/worker_answers.hpp"

namespace muster::core {

struct coordinator::state {
  state(core::config c, time_point start, server_wide& wide);
  ~state() { --wide.coordinators; }

  server_wide& wide;
  step_frame step;
  closure_table closures{wide};
  place_table places;
  closure_book book{closures, step.config};
  core::scheduler scheduler{closures};
  worker_roster roster{step.config, wide};
  component_builds builds{wide};
  session_table sessions{wide};
  session& builders{sessions.open_own(delivery::build)};      // owns the closures of builds
  session& rebuilders{sessions.open_own(delivery::rebuild)};  // and those that run again
  ended_rows rows{step.config, places, wide};
  value_store values{closures, step.config, wide};
  core::watchdog watchdog{step.config.watchdog};
  transient_failures failures{step.config};
  stateful_tasks stateful{step.config};
  activity_log activity{step.config, wide, step.now};

  release_texts texts{step, closures, builds, sessions, values};
  session_flow flow{step, closures, book, sessions};
  value_keeping keeping{step, closures, sessions, values, texts, flow};
  closure_life life{step, closures, places,   book,     scheduler, roster, builds, sessions,
                    rows, values,   watchdog, stateful, activity,  flow,   keeping};
  build_orders building{step,     closures, book,     scheduler, roster, builds,
                        sessions, builders, stateful, texts,     flow,   life};
  closure_intake intake{step,   closures, book,  scheduler, builds,  rebuilders,
                        values, stateful, texts, flow,      keeping, life};
  version_watch versions{step, closures, book, scheduler, roster, life};
  session_ends ends{step,     closures, book,  scheduler, sessions, rows, values,
                    failures, stateful, texts, flow,      keeping,  life, building};
  session_requests requests{step,  closures, book,    scheduler, sessions, rows,   values,
                            texts, flow,     keeping, life,      building, intake, ends};
  worker_events workers{step,   closures, places,   book,     scheduler, roster,
                        builds, sessions, stateful, activity, life,      building};
  worker_answers answers{step,     closures, scheduler, roster, builds, sessions,
                         failures, stateful, activity,  life,   workers};
  job_restart restarting{step, closures, places, book,    scheduler, builds, sessions,
                         rows, values,   flow,   keeping, life,      intake};
  job_facts facts{step, closures, places, book, builds, sessions, values};
  hand_out handing{step, closures, book, scheduler, roster, builds, watchdog, life, building};
  explainer explain{step,   closures, places, book,  scheduler,
                    roster, sessions, values, texts, workers};

  time_point due = never;  // when the next tick is wanted, as of the last step

  void begin(time_point t);
  effects const& end();
  /// One event is begin, one move, end.
  template <class Move>
  effects const& perform(time_point t, Move move) {
    begin(t);
    move();
    return end();
  }
  void ring(alarm<alarm_kind> const& a);
  void expire_calls();

  closure_book::tally const& of(session const& s) const { return flow.of(s); }
  attempt_view attempt_of(attempt_record const& a) const;
  lone_closure alone_of(closure_id id) const;
  job_view view_of(session const& s) const;
  task_view view_of(task_row const& t) const;
  closure_view view_of(session const& s, ended_row const& r, core::failure const* f) const;
  void name(closure_view& v, function_id f) const;
  /// Numbers for what the event's closures are to call, where there is room for them.
  void take_callables(std::vector<closure_spec>& coming,
                      std::vector<callable_name> const& callables);
  /// Makes room, unless it tried to a moment ago.
  void forget_callables(std::vector<function_id> const& coming);
  /// Of a closure that has no record any more.
  std::optional<closure_view> row_of(session_id of, closure_id c) const;

  // What one sub-model says of another; see violated_invariant.
  std::string leaked_place() const;
  std::string misplaced_closure() const;
  std::string stray_alarm() const;
  std::string mismatch() const;
  std::string miscounted_per_worker() const;
};

}  // namespace muster::core
