// Handles workers that attach, become silent, leave and return. At most one stream holds a closure,
// and only that stream can answer it. States:
//
//   attached ──broke──► away ──same incarnation──► attached: closures known to both sides continue
//                        │ │
//                        │ └── a closure has waited long enough ──► requeued
//                        └── no closures left, or another incarnation ──► lost
//
// Used only on the engine thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/core/state/engine_state.hpp"
#include "server/core/transitions/lifecycle/lifecycle.hpp"
#include "server/core/transitions/placing/build_orders.hpp"

namespace muster::core {

class worker_events {
 public:
  worker_events(engine_state& core, lifecycle& life, build_orders& building)
      : core_(core), life_(life), building_(building) {}

  time_point waits_until(worker const& w, slot c) const;
  /// Requeues closures that have waited long enough. When the worker's last closure has been
  /// requeued, the worker is declared lost.
  void stop_waiting(worker& w);
  /// @param pause duration for which the server itself was stalled, which does not count as
  /// silence.
  void sweep(duration pause);
  void state_lost(std::uint64_t number);
  struct newcomer {
    worker* now = nullptr;
    worker* before = nullptr;  // previous stream of the same incarnation, or null
  };
  /// Returns an empty result if the worker is refused. Otherwise `go_on` must be called in the same
  /// step.
  newcomer attach(worker_attached& e);
  void go_on(newcomer const& n, std::vector<held_closure> const& held);
  /// Returns whether the closure can adopt an attempt from an earlier server process: no worker
  /// holds the closure, and the attempt is not known to be lost.
  bool can_adopt(slot c, std::uint32_t attempt) const;
  void start(worker& w);
  /// Ends the worker's stream with this status, and declares the worker lost.
  /// @param final whether the worker must not reconnect.
  void disconnect(worker& w, status why, bool final, task_state as);
  void alive(worker_alive const& e);
  /// Run time after which a durable closure is recorded as running.
  static constexpr duration worth_noting = std::chrono::seconds(1);
  void note_running(worker& w);
  void disconnected(worker_disconnected const& e);
  /// Stops dispatch to the worker, which leaves when it holds no closures.
  void drain(worker_drain const& e);
  /// Drains a worker on an operator's request. Answers NOT_FOUND if the task is unknown, and
  /// FAILED_PRECONDITION if it is not connected.
  void drain_by_name(drain_task const& e);
  /// Stops or resumes dispatch to the task; the task's worker stays connected. Answers NOT_FOUND if
  /// the task is unknown.
  void cordon(cordon_task const& e);
  /// Called when the worker is cordoned, or when a closure on this worker waits for a value that
  /// prefetched closures must not precede.
  void retract_prefetched(worker& w);

 private:
  /// Returns the ids of the worker's functions; new names get an id.
  muster::result<std::vector<function_id>> functions_of(worker_spec const& spec);
  void on_connection_lost(worker& w, std::string why);
  void blame(worker& w, slot c);
  void forgive(task_row& t);
  /// Moves closures that the incarnation still holds to `to`, and requeues the other closures.
  /// @param kept receives the indices in `held` of the moved closures.
  void hand_over(worker& from, worker& to, std::vector<held_closure> const& held,
                 std::vector<std::uint32_t>& kept);
  bool awaited(task_row const& t);
  /// Gives up a long-lost task, and fails closures that can run only on this task.
  void give_up(task_row& t);
  void adopt_held(worker& w, std::vector<held_closure> const& held);
  void come_back(worker& old, worker& w, std::vector<held_closure> const& held);
  worker_slots slots_of(worker const& w, worker const* old) const;
  void replace(worker& old, std::string why);
  /// @param process closure that may have killed its process; null if the worker was lost.
  void lose(worker& w, task_state as, std::string why, bool blamed = true,
            held_closure const* process = nullptr);
  void on_state_attached(task_row const& t);
  void on_state_lost(task_row const& t, std::string const& why, bool final);
  void retire(worker& w);
  /// REQUIRES: the worker is retired and holds no closures.
  void dismiss(worker& w);
  duration start_delay(std::int64_t index) const;
  /// Must be called after `draining` or `away` has changed.
  void count(worker& w);
  void remove_silent(task_row& t);
  void set_draining(worker& w);
  void reopen(worker& w);
  engine_state& core_;
  lifecycle& life_;
  build_orders& building_;
};

}  // namespace muster::core
