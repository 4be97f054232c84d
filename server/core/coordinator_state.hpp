// The parts of the coordinator. Private to this folder and its tests.
//
//   coordinator   routes an event to a transition, ends the step
//   transitions/  workers/    worker_answers  worker_events
//                 sessions/   session_requests  resumable_sessions  parked_calls  session_ends
//                 admission/  admission
//                 placing/    dispatcher  version_watch  build_orders
//                 lifecycle/  lifecycle  value_keeping  session_flow  release_texts
//                 (each folder may use those below it)
//   durable/      derives facts from a step's changes; restores jobs from them
//   queries/      read-only queries between steps, by subject
//   state/        engine_state: the sub-models closures/ scheduling/ workers/ sessions/ values/
//                 per_worker/ policies/ activity/, which are independent of each other
//   below them    records/ common/ api/
#pragma once

#include "server/core/coordinator.hpp"
#include "server/core/durable/durable_records.hpp"
#include "server/core/durable/job_restart.hpp"
#include "server/core/queries/closure_queries.hpp"
#include "server/core/queries/explainer.hpp"
#include "server/core/queries/function_queries.hpp"
#include "server/core/queries/queue_queries.hpp"
#include "server/core/queries/session_queries.hpp"
#include "server/core/queries/value_queries.hpp"
#include "server/core/queries/worker_queries.hpp"
#include "server/core/transitions/placing/dispatcher.hpp"
#include "server/core/transitions/placing/version_watch.hpp"
#include "server/core/transitions/sessions/parked_calls.hpp"
#include "server/core/transitions/sessions/resumable_sessions.hpp"
#include "server/core/transitions/sessions/session_requests.hpp"
#include "server/core/transitions/workers/worker_answers.hpp"

namespace muster::core {

struct coordinator::state : engine_state {
  state(core::config c, time_point start, server_wide& wide);
  ~state() { --wide.coordinators; }

  release_texts texts{*this};
  session_flow flow{*this};
  value_keeping keeping{*this, texts, flow};
  lifecycle life{*this, flow, keeping};
  build_orders building{*this, texts, flow, life};
  admission admitting{*this, texts, flow, keeping, life};
  version_watch versions{*this, life};
  session_ends ends{*this, texts, flow, keeping, life, building};
  session_requests requests{*this, texts, flow, life, admitting, ends};
  resumable_sessions resumable{*this, texts, flow, keeping, life, building};
  parked_calls calls{*this, texts, flow, keeping, admitting, ends};
  worker_events workers{*this, life, building};
  worker_answers answers{*this, life, workers};
  job_restart restarting{*this, flow, keeping, life, admitting};
  durable_records job_records{*this};
  dispatcher dispatching{*this, life, building};
  explainer why{*this, texts, workers, versions};

  struct {
    session_queries sessions;
    closure_queries closures;
    worker_queries workers;
    value_queries values;
    per_worker_queries per_worker;
    function_queries functions;
    queue_queries queue;
  } const ask{
      {*this, texts}, {*this, texts, keeping, why}, worker_queries(*this), value_queries(*this),
      {*this, texts}, function_queries(*this),      {*this, why}};

  time_point due = never;  // time of the next tick

  void begin(time_point t);
  effects const& end();
  template <class Move>
  effects const& perform(time_point t, Move move) {
    begin(t);
    move();
    return end();
  }
  void on_alarm(alarm<alarm_kind> const& a);
  void report_programs();
  void expire_calls();

  closure_book::tally const& of(session const& s) const { return flow.of(s); }
  exclusive_closure exclusive_of(closure_id id) const;
  /// Replaces the callable numbers of `coming` with function ids, or with 0 if a callable is
  /// invalid or the table is full.
  void take_callables(std::vector<closure_spec>& coming,
                      std::vector<callable_name> const& callables);
  /// Forgets callables that neither a closure nor `coming` uses.
  void forget_callables(std::vector<function_id> const& coming);

  std::string leaked_place() const;
  std::string misplaced_closure() const;
  std::string stray_alarm() const;
  std::string mismatch() const;
  std::string miscounted_per_worker() const;
};

}  // namespace muster::core
