// Workers come, fall silent, leave and come back. The rule behind all of it: a closure is held by
// at most one stream, and only that stream may answer it.
//
//   attached ──broke──► away ──same incarnation──► attached: what both sides have goes on
//                        │ │
//                        │ └── a closure has waited long enough ──► back to the queue
//                        └── nothing left to wait for, or another incarnation ──► lost
//
// Owned by the coordinator, used within a step; engine thread only.
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

  /// Until when a closure waits for its worker, which is away.
  time_point waits_until(worker const& w, slot c) const;
  /// Puts back what has waited long enough; the worker is lost when that was the last.
  void stop_waiting(worker& w);
  /// Looks for workers that are silent, or have been lost for too long. `pause`: how long the
  /// server itself stood still, which is nobody's silence.
  void sweep(duration pause);
  /// A task that holds state has been away for too long.
  void state_lost(std::uint64_t number);
  struct newcomer {
    worker* now = nullptr;
    worker* before = nullptr;  // the same incarnation's stream until now; null: there is none
  };
  /// Nothing in it: it was refused. Else `go_on` follows in the same step.
  newcomer attach(worker_attached& e);
  /// With what it says that it has.
  void go_on(newcomer const& n, std::vector<held_closure> const& held);
  /// Whether an attempt of an earlier process of the server may become that of this closure: nobody
  /// else has it, and the attempt is not known to be lost.
  bool may_take_up(slot c, std::uint32_t attempt) const;
  /// Its staggered start has come.
  void start(worker& w);
  /// Ends its stream with this status, as one that is lost. `final`: it must not come back.
  void disconnect(worker& w, status why, bool final, task_state as);
  /// A sign of life without content.
  void alive(worker_alive const& e);
  /// Durable closures that have run there for this long are said to, once each.
  static constexpr duration worth_noting = std::chrono::seconds(1);
  /// Says of durable closures there, once each, that they have run for `worth_noting`.
  void note_running(worker& w);
  /// Its stream is over: it has left, is lost, or may come back within its grace.
  void disconnected(worker_disconnected const& e);
  /// It gets nothing new, and leaves when it holds nothing.
  void drain(worker_drain const& e);
  /// The same, asked for by an operator. NOT_FOUND.
  void drain_by_name(drain_task const& e);
  /// The task gets nothing new, or may again; its worker stays. NOT_FOUND.
  void cordon(cordon_task const& e);
  /// What was prefetched to the worker is asked back: it is cordoned, or something there waits for
  /// a value, and what it was sent may have to come after that.
  void retract_prefetched(worker& w);

 private:
  void on_connection_lost(worker& w, std::string why);
  /// The closure counts this loss; see forgive.
  void blame(worker& w, slot c);
  void forgive(task_row& t);
  /// What the same incarnation still has goes on with `to`, the rest goes back. `kept`: positions
  /// in `held`.
  void hand_over(worker& from, worker& to, std::vector<held_closure> const& held,
                 std::vector<std::uint32_t>& kept);
  /// Something waits that can run only there.
  bool awaited(task_row const& t);
  /// Lost for longer than the recovery timeout: what can run only there fails.
  void give_up(task_row& t);
  void take_up(worker& w, std::vector<held_closure> const& held);
  void come_back(worker& old, worker& w, std::vector<held_closure> const& held);
  worker_slots slots_of(worker const& w, worker const* old) const;
  void replace(worker& old, std::string why);
  /// The worker leaves the registry; what it held goes back to the head of the queues. `blamed`:
  /// what it can have been executing may be why. `process`: the worker's process has ended, and the
  /// closure that it executed may be why; null: the worker is lost.
  void lose(worker& w, task_state as, std::string why, bool blamed = true,
            held_closure const* process = nullptr);
  /// A task that holds state came; it is lost if it is another incarnation than before.
  void on_state_attached(task_row const& t);
  /// Its worker is gone: lost with it, or when it stays away.
  void on_state_gone(task_row const& t, std::string const& why, bool final);
  /// No more closures for it.
  void retire(worker& w);
  /// Forgets it; the row stays. REQUIRES: it is retired and holds nothing.
  void dismiss(worker& w);
  duration start_delay(std::int64_t index) const;
  /// After `draining` or `away` changed: whether it is one of those that have its functions.
  void count(worker& w);
  void lose_silent(task_row& t);
  void set_draining(worker& w);
  /// After its task was cordoned, or is not any more, or its staggered start has come.
  void reopen(worker& w);
  engine_state& core_;
  lifecycle& life_;
  build_orders& building_;
};

}  // namespace muster::core
