// What happens to one closure from its dispatch to its end, and what follows from it at once. Every
// way to an end goes through `finish`, whose comment says in which order what follows is done; what
// could nest (dependents, gangs, queues without a worker) is noted in the step and told at its end.
//
//   queued ──assign──► prefetched ──start──► running ──succeed | fail | cancel──► ended
//     ▲  ▲                │                     │
//     │  └──requeued──────┴─────────────────────┘   (at the head; after a pause: enqueue)
//   enqueue ◄── blocked, delayed or in a gang
//
// Owned by the coordinator, used within a step; engine thread only.
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

  /// The worker holds the closure from now on, and an assignment says so. REQUIRES: it was just
  /// taken out of its queue.
  void assign(worker_slots& w, slot c);
  /// Queued, or delayed, as far as we know; but this worker has it since before we were started.
  void take_up(worker_slots& w, slot c, std::uint32_t attempt);
  /// A slot of its worker works on it, since then.
  void start(worker_slots& w, slot c, time_point at, bool reported);
  /// Prefetched, and answered before anybody knew that it ran: only the times are noted. Since
  /// when.
  time_point began(slot c, time_point at);
  /// No slot works on it any more, since another closure has it: it is prefetched again.
  void stop(slot c);
  /// It waits for a value: another may run in its slot, and beside it, were it to run alone.
  /// REQUIRES: its worker holds it, and one more may wait.
  void let_wait(worker_slots& w, slot c);
  /// Slots of the worker may have become free for what was prefetched to it.
  void start_waiting(worker_slots& w);
  /// Adds the attempt that is over to those that the record keeps, sixteen at most: the newest.
  void remember_attempt(slot c, attempt_outcome outcome);
  /// `suspect`: the closure may be why. `pause`: before it is queued again; a suspect that lost its
  /// worker pauses longer with each loss. `process_ended`: its own process has ended, which is
  /// counted even where lost workers are not.
  void requeue(worker& w, slot c, bool suspect, attempt_outcome const& why, duration pause = {},
               bool process_ended = false);
  /// The closure has ended with this value.
  void succeed(slot c, blob&& value);
  /// The closure has ended, FAILED or CANCELLED. The first failure of a session that fails fast
  /// stops it.
  void fail(slot c, closure_state as, core::failure f);
  /// Fails it as CANCELLED.
  void cancel(slot c, std::string_view why);
  /// Has its worker asked to stop it, once; the answer ends it. REQUIRES: a worker holds it.
  void ask_to_stop(slot c);
  /// Which closures of a session a stop ends. Only its client ends closures with errors of their
  /// own, by a cancel or by leaving; no error of the session does.
  enum class stops : std::uint8_t { all, but_own_errors };
  /// Ends the closures that are queued and asks workers to stop the others. `with`: the failure of
  /// the queued ones; null: they are cancelled.
  void stop_session(session& s, std::string_view why, stops which = stops::all,
                    core::failure const* with = nullptr);
  /// Stops the session, but for closures with errors of their own, for this error. `all_fail`:
  /// queued closures fail with it too, instead of being cancelled. REQUIRES: neither terminal nor
  /// stopping.
  void fail_session(session& s, core::failure f, std::string_view why, bool all_fail = false);
  /// Fails the sessions that relied on the state of the task, and forgets that state.
  void lose_state(stateful_tasks::task_key const& t, std::string const& why);
  /// Fails one session that relied on the state of the task. Returns whether that ended its
  /// generation.
  bool lose_state_of(session& s, stateful_tasks::task_key const& t, std::string const& why);
  /// Its session goes in this step, too, and says so for all of them.
  void forget_with_session(slot c, release_reason why);
  /// Its record and value go. REQUIRES: it has ended.
  void forget(slot c, release_reason why);
  /// The same of one that a resumable session holds, with its token.
  void forget_held(slot c, release_reason why = release_reason::client);
  /// The value of an input is there, for the closure that waits for it or is new.
  void use_input(slot c, std::size_t k, blob const& value);
  /// Nobody wants its value any more. True: others cannot be made again without it, so its record
  /// stays, without its token. REQUIRES: a resumable session holds it.
  bool keep_for_others(slot c);
  /// Forgets closures that no other needs any more, and values that are not needed just now, of
  /// those that are kept for others; the end of a step.
  void let_go_of_inputs();
  /// Fails the closures that this step has noted to lack an input for good.
  void end_failed_inputs();
  /// Fails it with TIMEOUT and says where it was. REQUIRES: its deadline has passed and no worker
  /// executes it.
  void expire(slot c);
  /// Why the inputs that are there cannot go with its arguments; empty when they can.
  std::string unfit_inputs(closure_record const& r) const;
  /// What a dependent of the failed closure fails with: always the first failure of a chain, with
  /// the class of that error, its worker and the end of its traceback.
  failure ended_as_input(slot c) const;
  /// Gives inputs that have ended to the closures that wait for them, which are queued, or fail,
  /// until nothing follows any more.
  void tell_dependents();
  /// Nobody may use the value any more: its components go at once, or with the last closure that
  /// uses it.
  void release(per_worker_entry& v);
  /// What the closure of a build makes; null when its value was released meanwhile.
  per_worker_component* component_of(worker const& w, slot c);
  /// The build has failed and that is borne: another one follows after a pause. REQUIRES:
  /// component_of.
  void build_again(worker& w, slot c, core::failure why);
  /// Counts a user of each per-worker value that the closure names. REQUIRES: they are there.
  void use_per_worker(closure_extras const& x);
  /// Takes the gang out of the table, with its alarm and the workers kept free for it, and gives
  /// it.
  gang forget_gang(std::uint64_t id);
  /// Cancels the other members of gangs of which one has ended before they could start.
  void tell_gangs();
  /// What is said of a task that was given up: since when it is away, and why.
  std::string absence(task_row const& t) const;
  /// Why no worker can come that meets it; nothing when one may.
  std::optional<failure> unsatisfiable(requirement const& r) const;
  /// Why no worker that meets the requirement will have the value: the builder has lost one worker
  /// after the other. Nothing when some worker has built it, is building it, or may return.
  std::optional<failure> unbuildable(per_worker_entry const& v, requirement const& r) const;
  /// The closure has come to its queue: it fails at the end of the step if nobody is left for it.
  void check_later(slot c);
  /// Fails noted closures that wait for a worker, or a value, that can never come.
  void check_feasible();
  /// Notes all waiting closures that wait for something that can never come. Returns how many.
  /// Walks all queues: for many events of one step set step_frame::check_all instead.
  std::size_t check_all_later();
  /// From nowhere into its queue, or apart until its start.
  void enqueue(slot c);
  /// Whether a user error is tried again; then it is on its way.
  bool retry(worker& w, slot c, core::failure const& f);
  /// Its worker is asked to stop it, or, where none has it, it fails with TIMEOUT.
  void deadline_passed(slot c);
  /// Queues the delayed closures of step_frame::starts_due. A closure that lost its worker goes to
  /// the head of its queue, any other to the tail. Closures of one queue keep their order. Closures
  /// of gangs, and closures that run alone, wait for their workers instead.
  void start_delays_elapsed();
  /// The closure is blamed for a lost worker: once it has lost `limit` of them it runs alone.
  void run_alone_after(slot c, std::uint32_t limit, std::string const& worker);
  /// Returns how long a closure waits after its `losses`-th loss.
  duration pause_after_loss(std::uint32_t losses) const;
  /// Returns how long a closure waits before its `retry`-th retry after an error of its function.
  static duration pause_before_retry(closure_options const& o, std::uint32_t retry,
                                     std::uint64_t id);
  /// Makes the closure run alone on its worker from now on. REQUIRES: it does not yet.
  void run_alone(slot c);
  /// The worker lives after all. Where it was the third, the closure runs with others again.
  void forgive_lost_worker(slot c);

 private:
  /// Fails the session's closures with errors of their own that can run on this task alone.
  void fail_bound(session& s, stateful_tasks::task_key const& t, core::failure const& why);
  void give(worker_slots& w, slot c, closure_record& r);
  /// How many workers the function of a closure that runs again is told of: as many as at first.
  std::uint32_t declared_for_lost(closure_record const& r) const;
  /// Counts a loss that the closure is blamed for.
  void count_loss(slot c, bool process_ended);
  /// Returns how many losses of the closure count towards its session's limit.
  std::uint32_t counted_losses(session const& s, closure_record const& r) const;
  /// Returns the message of a closure that has had `losses`, which is its limit.
  std::string text_of_losses(session const& s, closure_record const& r, std::uint32_t losses) const;
  enum class queue_end : std::uint8_t { head, tail };
  /// Ends the delay of one closure. `to`: the end of its queue that it joins.
  void start_delay_elapsed(slot c, queue_end to);
  /// Takes the closure out of its queue or off its worker.
  void unlink(slot c, closure_record const& r);
  void finish(slot c, closure_state as);
  /// Its record is about to go: its session remembers a row.
  void forget_record(slot c, closure_record& r, release_reason why);
  /// An ended closure of a resumable session: its outcome goes out, its record stays.
  void hold(slot c);
  void unuse_per_worker(closure_extras const& x);
  void built(slot c, stream_id on);
  /// The worker has lost the build, or has given it back: the build is forgotten and its value
  /// built anew. `suspect`: the builder may be why the worker was lost.
  void lose_build(worker& w, slot c, bool suspect, closure_book::requeue_cause cause);
  /// Forgets the closure of a build that did not come to its end. It is no failure.
  void withdraw_build(worker& w, slot c, closure_book::requeue_cause cause);
  /// It has ended, or need not run alone any more.
  void stop_being_exclusive(slot c);
  /// The closure waits for nothing but its gang, or a worker of its own.
  void wait_for_others(slot c);

  engine_state& core_;
  session_flow& flow_;
  value_keeping& keeping_;
};

}  // namespace muster::core
