// A closure's transitions from dispatch to its end, with their direct consequences. Every end calls
// `finish`, which documents the order of the consequences. Consequences that could nest
// (dependents, gangs, queues without a worker) are deferred to the end of the step. States:
//
//   queued ──assign──► prefetched ──start──► running ──succeed | fail | cancel──► ended
//     ▲  ▲                │                     │
//     │  └──requeued──────┴─────────────────────┘   (at the head; after a pause: enqueue)
//   enqueue ◄── blocked, delayed or in a gang
//
// Used only on the engine thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/core/state/engine_state.hpp"
#include "server/core/transitions/lifecycle/session_flow.hpp"
#include "server/core/transitions/lifecycle/value_keeping.hpp"

namespace muster::core {

class lifecycle {
 public:
  lifecycle(engine_state& core, session_flow& flow, value_keeping& keeping)
      : core_(core), flow_(flow), keeping_(keeping) {}

  /// REQUIRES: the closure was just removed from its queue.
  void assign(worker_slots& w, slot c);
  /// Adopts a waiting closure that this worker has held since before the server started.
  void adopt_held(worker_slots& w, slot c, std::uint32_t attempt);
  void start(worker_slots& w, slot c, time_point at, bool reported);
  /// Returns the start of a prefetched closure whose answer arrived before its start was known.
  time_point began(slot c, time_point at);
  void stop(slot c);
  /// Frees the closure's slot and ends its isolation. REQUIRES: the worker holds the closure, and
  /// may_yield() is true.
  void yield_slot_of(worker_slots& w, slot c);
  void start_waiting(worker_slots& w);
  /// Adds the last attempt to the record, which keeps the newest sixteen attempts.
  void remember_attempt(slot c, attempt_outcome outcome);
  /// @param process_ended whether the closure's process ended. An ended process counts as a loss
  ///   even in sessions that ignore lost workers.
  void requeue(worker& w, slot c, bool suspect, attempt_outcome const& why, duration pause = {},
               bool process_ended = false);
  void succeed(slot c, blob&& value);
  /// Fails the closure. The first failure of a fail-fast session stops the session.
  void fail(slot c, closure_state as, core::failure f);
  void cancel(slot c, std::string_view why);
  /// Asks the worker once to stop the closure, which finishes when the worker answers. REQUIRES: a
  /// worker holds the closure.
  void ask_to_stop(slot c);
  /// Selects the closures that stop_session() stops. A closure with own_error is stopped only if
  /// the client cancels it or leaves.
  enum class stops : std::uint8_t { all, but_own_errors };
  /// Ends the session's queued closures, and asks workers to stop the session's other closures.
  /// @param with failure of the queued closures; if null, they are cancelled.
  void stop_session(session& s, std::string_view why, stops which = stops::all,
                    core::failure const* with = nullptr);
  /// Stops the session because of this error, except for closures with own_error. REQUIRES: the
  /// session is neither terminal nor stopping.
  /// @param all_fail whether queued closures fail with the error instead of being cancelled.
  void fail_session(session& s, core::failure f, std::string_view why, bool all_fail = false);
  void lose_state(stateful_tasks::task_key const& t, std::string const& why);
  bool lose_state_of(session& s, stateful_tasks::task_key const& t, std::string const& why);
  /// Deletes the closure's record while its session is removed; the removal is reported once, for
  /// the session.
  void forget_with_session(slot c, release_reason why);
  /// REQUIRES: the closure has finished.
  void forget(slot c, release_reason why);
  void forget_held(slot c, release_reason why = release_reason::client);
  void use_input(slot c, std::size_t k, blob const& value);
  /// If other values depend on a released value, keeps the value's record without its token.
  /// Returns whether the record was kept. REQUIRES: a resumable session holds the value.
  bool keep_for_others(slot c);
  void forget_unneeded_inputs();
  void end_failed_inputs();
  /// Fails the closure with TIMEOUT. REQUIRES: its deadline has passed, and no worker executes it.
  void expire(slot c);
  /// Returns why the closure's inputs cannot be combined with its arguments, or an empty string.
  std::string unfit_inputs(closure_record const& r) const;
  /// Returns the failure for the closure's dependents: the first failure of a chain, with its
  /// class, its worker and the end of its traceback.
  failure ended_as_input(slot c) const;
  /// Passes finished inputs to their dependents, which are queued or fail, until no input is left.
  void notify_dependents();
  /// Releases a per-worker value. The value's components are deleted immediately if no closure uses
  /// them, and otherwise when the last closure that uses them has finished.
  void release(per_worker_entry& v);
  per_worker_component* component_of(worker const& w, slot c);
  /// REQUIRES: component_of() is not null.
  void build_again(worker& w, slot c, core::failure why);
  void use_per_worker(closure_extras const& x);
  gang forget_gang(std::uint64_t id);
  void cancel_broken_gangs();
  std::string absence(task_row const& t) const;
  /// Returns why no worker that meets the requirement can ever attach, or nothing.
  std::optional<failure> unsatisfiable(requirement const& r) const;
  /// If builds of the value have lost too many workers, returns why no worker that meets the
  /// requirement will have the value. Returns nothing if a worker has built the value, is building
  /// it, or may return.
  std::optional<failure> unbuildable(per_worker_entry const& v, requirement const& r) const;
  void check_later(slot c);
  /// Fails scheduled closures that wait for a worker or value that can never appear.
  void check_feasible();
  /// Schedules a check of all closures that can never run, and returns their number. Visits all
  /// queues. If many events occur in one step, set step_frame::check_all instead.
  std::size_t check_all_later();
  void enqueue(slot c);
  /// Retries the closure after a user error if its options allow a retry. Returns whether the
  /// closure is retried.
  bool retry(worker& w, slot c, core::failure const& f);
  /// Asks the worker to stop the closure. If no worker holds the closure, fails it with TIMEOUT.
  void deadline_passed(slot c);
  /// Queues the closures in step_frame::starts_due. Closures that lost a worker go to the head of
  /// their queue, all other closures to the tail. Closures in the same queue keep their order.
  /// Isolated closures and gang members are not queued, but wait for their workers.
  void start_delays_elapsed();
  void run_alone_after(slot c, std::uint32_t limit, std::string const& worker);
  duration pause_after_loss(std::uint32_t losses) const;
  static duration pause_before_retry(closure_options const& o, std::uint32_t retry,
                                     std::uint64_t id);
  /// REQUIRES: the closure is not isolated.
  void run_alone(slot c);
  /// Subtracts a loss after the worker has returned. Ends the isolation if the number of losses is
  /// below the limit again.
  void undo_loss(slot c);

 private:
  /// Fails the session's closures with own_error that can run only on this task.
  void fail_bound(session& s, stateful_tasks::task_key const& t, core::failure const& why);
  void give(worker_slots& w, slot c, closure_record& r);
  std::uint32_t declared_for_lost(closure_record const& r) const;
  void count_loss(slot c, bool process_ended);
  std::uint32_t counted_losses(session const& s, closure_record const& r) const;
  std::string text_of_losses(session const& s, closure_record const& r, std::uint32_t losses) const;
  enum class queue_end : std::uint8_t { head, tail };
  void start_delay_elapsed(slot c, queue_end to);
  void unlink(slot c, closure_record const& r);
  void finish(slot c, closure_state as);
  void forget_record(slot c, closure_record& r, release_reason why);
  /// Sends the outcome of a resumable session's closure and keeps the closure's record.
  void hold(slot c);
  void unuse_per_worker(closure_extras const& x);
  void built(slot c, stream_id on);
  /// Removes a build that its worker has lost or returned, and schedules a new build.
  /// @param suspect whether the build may have caused the loss of the worker.
  void lose_build(worker& w, slot c, bool suspect, closure_book::requeue_cause cause);
  void withdraw_build(worker& w, slot c, closure_book::requeue_cause cause);
  void stop_being_exclusive(slot c);
  /// Defers a closure that waits only for its gang or an empty worker.
  void wait_for_others(slot c);

  engine_state& core_;
  session_flow& flow_;
  value_keeping& keeping_;
};

}  // namespace muster::core
