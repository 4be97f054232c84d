// What the coordinator owns, and the moves its events are made of. Private to coordinator*.cpp:
//   coordinator.cpp           routing, clockwork, dispatch
//   coordinator_workers.cpp   attach, results, loss
//   coordinator_away.cpp      broken connections and who comes back
//   coordinator_give_up.cpp   what waits for a worker that stays away
//   coordinator_sessions.cpp  open, schedule, stop, forget
//   coordinator_requests.cpp  seal, cancel, close, delete, join, wait
//   coordinator_holding.cpp   sessions that keep values, leave and come back
//   coordinator_closures.cpp  the life of one closure
//   coordinator_retention.cpp which values are kept, and what is said of those that are not
//   coordinator_values.cpp    values that move to the disk and back
//   coordinator_lineage.cpp   closures that run again, since their values were lost
//   coordinator_failures.cpp  reported failures that are borne for a while
//   coordinator_watchdog.cpp  when nothing finishes
//   coordinator_options.cpp   delays, deadlines, retries, inputs
//   coordinator_requirements.cpp   affinity, labels, resources
//   coordinator_gangs.cpp     closures that start together
//   coordinator_per_worker.cpp     values that each worker builds for itself
//   coordinator_views.cpp     copies for readers;  explain.cpp, invariants.cpp
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <unordered_map>

#include "server/core/alarms.hpp"
#include "server/core/api/metrics.hpp"
#include "server/core/closure_table.hpp"
#include "server/core/coordinator.hpp"
#include "server/core/function_table.hpp"
#include "server/core/gang_table.hpp"
#include "server/core/per_worker_table.hpp"
#include "server/core/place_table.hpp"
#include "server/core/placement.hpp"
#include "server/core/registry.hpp"
#include "server/core/requirement.hpp"
#include "server/core/session.hpp"
#include "server/core/waiters.hpp"

namespace muster::core {

struct coordinator::state {
  state(core::config c, time_point start)
      : config(c),
        functions(config),
        registry(config),
        placement(closures, functions),
        per_worker(static_cast<std::uint64_t>(start.time_since_epoch().count())),
        max_build_losses(c.max_worker_failures),
        now(start) {
    builders.spec.on_error = on_error::continue_all;
    builders.max_worker_failures = 0;
    rebuilders.spec.on_error = on_error::continue_all;
    rebuilders.spec.keep_values = false;
    rebuilders.capacity = c.closures_max;
    rebuilders.max_worker_failures = c.max_worker_failures;
  }

  core::config const config;
  effects fx;
  function_table functions;
  closure_table closures;
  place_table places;
  core::registry registry;
  core::placement placement;
  requirement_table requirements;
  per_worker_table per_worker;
  gang_table gangs;
  session builders;                         // owns the closures of builds; in no list
  session rebuilders;                       // owns the closures that run again; in no list
  std::vector<stream_id> builders_waiting;  // workers with something to build
  std::uint32_t max_build_losses = 0;       // as a closure's quarantine
  std::unordered_map<stream_id, std::unique_ptr<worker>> workers;
  std::map<session_id, std::unique_ptr<session>> sessions;
  std::unordered_map<std::string, session_id> by_key;  // idempotency keys
  std::deque<session_id> finished_jobs;                // oldest first; may name forgotten ones
  std::size_t finished_count = 0;
  core::waiters waiters;
  core::alarms alarms;
  std::deque<ended_input> ended_inputs;
  std::vector<closure_id> to_judge;  // in this step; see judge_later
  closure_counts counts;
  std::uint64_t put_back = 0;
  std::uint64_t retried = 0;
  std::uint64_t aborted = 0;
  std::uint64_t values_held = 0;
  std::uint64_t value_bytes = 0;  // in memory
  value_ledger ledger;
  /// Of sessions that were forgotten lately; limit: notes_max.
  std::unordered_map<session_id, release_note> session_notes;
  std::deque<session_id> session_notes_order;
  time_point dropped_remark_at{};  // no other remark about drops before a minute after
  std::uint64_t jobs[4] = {};      // by job_state; finished ones since start
  std::uint64_t streaming_sessions = 0;
  std::uint64_t last_session = 0;
  std::size_t sessions_held_back = 0;
  closure_metrics metrics;
  std::vector<session_id> unsettled;
  time_point quiet_since = never;  // since when nothing finished while something could
  time_point watch_due = never;
  bool finished_some = false;  // in this step
  bool stalled = false;        // the watchdog has spoken, and nothing has finished since
  bool stopping = false;
  time_point now;
  time_point due = never;  // when the next tick is wanted, as of the last step
  std::vector<slot> run;   // scratch of dispatch

  // coordinator.cpp
  void begin(time_point t);
  effects const& end();
  template <class Move>
  effects const& perform(time_point t, Move move);
  void dispatch();
  void answer(call_id call, status s, decltype(reply::body) body = {});
  bool refuse_when_stopping(call_id call);
  void expire_calls();

  // coordinator_workers.cpp
  void attach(worker_attached& e);
  void results(worker_results& e);
  std::string apply_result(worker& w, worker_result& r);
  /// The worker leaves the roll; what it held goes back to the head of the queues.
  void lose(worker& w, task_state as, std::string why);
  void disconnect(worker& w, status why, bool final, task_state as);
  void lose_silent(task_row& t);
  /// Its staggered start has come.
  void start(worker& w);
  duration start_delay(std::int64_t index) const;
  void replace(worker& old, std::string why);
  void come_back(worker& old, worker& w, std::vector<held_closure> const& held);
  /// No more closures for it.
  void retire(worker& w);
  /// Forgets it; the row stays. REQUIRES: it is retired and holds nothing.
  void dismiss(worker& w);
  void set_draining(worker& w);
  /// After `draining` or `away` changed: whether it is one of those that have its functions.
  void count(worker& w);
  worker* find_worker(stream_id s);

  // coordinator_away.cpp
  void part(worker& w, std::string why);
  /// Puts back what has waited long enough; the worker is lost when that was the last.
  void stop_waiting(worker& w);
  time_point waits_until(worker const& w, slot c) const;
  /// The closure counts this loss; see forgive.
  void blame(worker& w, slot c);
  void forgive(task_row& t);
  /// What the same incarnation still has goes on with `to`, the rest goes back. `kept`: positions
  /// in `held`.
  void hand_over(worker& from, worker& to, std::vector<held_closure> const& held,
                 std::vector<std::uint32_t>& kept);

  // coordinator_give_up.cpp
  void sweep(duration pause);
  std::string absence(task_row const& t) const;
  /// Something waits that can run only there.
  bool awaited(task_row const& t) const;
  /// Lost for longer than the recovery timeout: what can run only there fails.
  void give_up(task_row& t);
  /// The closure has come to its queue: it fails at the end of the step if nobody is left for it.
  void judge_later(slot c);
  void judge();
  bool lost_everywhere(per_worker_entry const& v) const;
  /// Why no worker can come that meets it; nothing when one may.
  std::optional<core::failure> hopeless(requirement const& r) const;
  void forget_components();

  // coordinator_closures.cpp
  slot create(session& s, closure_spec& spec);
  void assign(worker& w, slot c);
  /// `outcome`: what the attempt's history says. `pause`: before it is queued again.
  void put_back_closure(worker& w, slot c, bool suspect, std::string const& outcome,
                        duration pause = {});
  void succeed(slot c, blob value);
  void fail(slot c, closure_state as, core::failure f);
  void cancel(slot c, std::string_view why);
  void ask_to_stop(slot c);
  /// Takes the closure out of its queue or off its worker.
  void unlink(slot c);
  void finish(slot c, closure_state as);
  void forget(slot c, release_reason why);
  /// REQUIRES: its value is in memory, gone, or an error.
  value_reply value_of(slot c) const;
  void remember_attempt(slot c, std::string outcome);

  // coordinator_options.cpp
  /// Gives a new closure its options and inputs. `request`: closures of the same request by
  /// position. Empty, or why it fails at once.
  std::string equip(session& s, slot c, std::shared_ptr<closure_extras const> extras,
                    std::vector<slot> const& request);
  /// Into and out of the closures of its session that wait apart from their lane.
  void set_apart(slot c);
  void end_apart(slot c);
  /// From nowhere into its lane, or apart until its start.
  void enqueue(slot c);
  /// Whether a user error is tried again; then it is on its way.
  bool retry(worker& w, slot c, core::failure const& f);
  void ring(alarm const& a);
  void expire(slot c);
  void expire(session& s);
  void tell_dependents();
  /// What a dependent of the failed closure is told: always the first failure of a chain.
  std::string ended_as_input(slot c) const;
  status valid_extras(closure_spec const& spec, std::string const& at, std::size_t position,
                      bool streaming) const;
  /// Why the inputs that are there cannot be arguments; empty when they can.
  std::string unfit_inputs(closure_details const& d) const;
  attempt_view attempt_of(closure_record const& r, attempt_record const& a) const;

  // coordinator_requirements.cpp
  status valid_needs(closure_extras const& x, std::string const& at) const;
  static requirement needs_of(closure_extras const& x);
  /// Whether the lanes and requirements that these would bring fit. `s`: null for a new session.
  status room_for_needs(session const* s, std::vector<closure_spec> const& closures) const;
  std::uint32_t lane_of(session& s, closure_spec const& spec);
  void release_requirements(session& s);
  bool satisfies(worker const& w, requirement const& r) const;
  /// After any change of what the worker has: puts it where it belongs now.
  void reconsider(worker& w);
  std::vector<std::reference_wrapper<session>> all_sessions();
  /// Takes from the worker what the closure holds while it runs there.
  bool has_free(worker const& w, slot c) const;
  void reserve(worker& w, slot c);
  /// The worker holds the closure no more: its resources are free again.
  void let_go(worker& w, slot c);

  // coordinator_gangs.cpp
  status valid_gangs(std::vector<closure_spec> const& specs) const;
  void form_gangs(session const& s, std::vector<closure_spec> const& specs);
  void join_gang(slot c);
  /// The closure waits for nothing else any more.
  void wait_for_gang(slot c);
  void forget_gang(std::uint64_t id);
  void break_gang(slot c);
  void tell_gangs();
  std::vector<std::pair<slot, worker*>> plan(gang const& g, bool idle);
  void start_gangs();
  void start_member(worker& w, slot c);
  void keep_free(std::vector<stream_id> wanted);
  std::string why_gang_waits(gang const& g);

  // coordinator_per_worker.cpp
  void create(create_per_worker& e);
  void erase(delete_per_worker const& e);
  void release(per_worker_entry& v);
  /// Those of the session but for these tokens.
  void release_per_worker(session const& s, std::vector<std::uint64_t> const& but = {});
  void use_per_worker(closure_extras const& x);
  void unuse_per_worker(closure_extras const& x);
  bool built_on(per_worker_id id, worker const& w) const;
  void expect_component(worker& w, per_worker_entry& v);
  void expect_components(worker& w);
  void lose_components(worker& w, std::string const& why);
  void send_builds();
  void send_build(worker& w, per_worker_entry& v);
  void built(slot c, stream_id on);
  /// The build did not come to its end; tried again where its worker is or comes back.
  void go_on_building(worker& w, slot c);
  void lose_build(worker& w, slot c, bool suspect, std::string const& why);
  /// Why no worker is there for a queued closure with this requirement; empty when one is.
  std::string unmet(function_entry const& f, function_id id, requirement const& r) const;
  status unknown_per_worker(per_worker_id id) const;

  // coordinator_sessions.cpp
  void open(open_session& e);
  /// Whether the session takes these closures now.
  status appendable(session const& s, core::schedule const& e) const;
  status room_for(session const& s, std::size_t n) const;
  status valid(std::vector<closure_spec> const& closures, session_spec const& session) const;
  status valid(session_spec const& spec) const;
  void schedule_closures(session& s, std::vector<closure_spec>& closures,
                         std::vector<closure_id>* ids);
  void append(core::schedule& e);
  void stop_session(session& s, std::string_view why);
  /// What follows when nothing of a session is left happens at the end of the step, so that no move
  /// finds its session gone.
  void settle_later(session& s);
  void settle(session& s);
  void finish_job(session& s);
  void release_session(session& s, release_reason why);
  /// A stream is told to hold back, or needs to no more.
  void hold_back(session& s);
  void end_hold(session& s);
  void relieve(session& s);
  void relieve_all();
  session* find_session(session_id id);
  status unknown_session(session_id id) const;
  void seal(seal_session const& e);
  void cancel(cancel_session const& e);
  void close(close_session const& e);
  void erase(delete_session const& e);
  void cancel(cancel_closure const& e);
  void join(join_session const& e);
  void await(await_value const& e);
  join_reply joined(session const& s) const;

  // coordinator_retention.cpp
  /// The closure has ended and its record stays.
  void keep_value(slot c);
  /// Takes the value out of the books, wherever it is.
  void let_value_go(slot c);
  /// The record stays with an empty value: nobody wants it.
  void forget_value(slot c);
  /// The record stays without its value and says why.
  void drop_value(slot c, release_reason why);
  bool has_value(closure_id id) const;
  bool forget_oldest_job(release_reason why);
  bool drop_oldest_in_memory();
  void limit_values(session& s);
  std::size_t spill_above() const;
  bool over_a_limit() const;
  void keep_within_limits();
  void set_age_alarm(session& s, time_point kept_since);
  void age_rang(session_id id);
  /// "12 s ago: …"
  std::string when_and_why(release_note const& n) const;
  std::string released_text(closure_id id) const;
  status unknown_value(closure_id id) const;
  void remember_session(session_id id, release_reason why);

  // coordinator_values.cpp
  void write_values();
  value_ledger::reading& read_value(slot c);
  void send_reads();
  void do_not_repeat(session& s, closure_id id);
  void moved(values_moved& e);
  void written(value_moved& m);
  void read_back(value_moved& m);
  /// `why`: there is no value.
  void tell_readers(closure_id id, value_ledger::reading r, blob const* value, std::string why);
  std::string invalid_ledger() const;

  // coordinator_lineage.cpp
  bool keeps_arguments(closure_record const& r) const;
  void keep_arguments(slot c);
  std::string why_not_again(slot c) const;
  std::string lost_for_good(closure_id id) const;
  value_ledger::rebuilding* run_again(slot c);
  void fail_doomed();
  void rebuilt(slot b);
  void tidy_rebuilders();

  // coordinator_holding.cpp
  /// An ended closure of a holding session: its outcome goes out, its record stays.
  void hold(slot c);
  outcome outcome_of(slot c) const;
  void forget_held(slot c, release_reason why = release_reason::client);
  void release_one(slot c);
  void release(release_values const& e);
  void suspend(suspend_session const& e);
  void resume(resume_session const& e);
  /// True: the token is known, so the closure is not scheduled again.
  bool repeat(session& s, std::uint64_t token);
  /// Why a holding session cannot keep n more records; empty when it can.
  std::string no_place_to_hold(session const& s, std::size_t n) const;
  void fail_all(session& s, std::vector<closure_spec>& closures, failure_kind kind,
                std::string const& why);
  /// A sign of the client of a session without a stream; it will wait until `until`.
  void renew_lease(session& s, time_point until);
  void set_lease_alarm(session& s);
  void lease_rang(session& s);
  void park_join(session& s, join_session const& e);
  /// What `drain` and `settle` are told; takes the error.
  join_reply collect(session& s);
  void answer_drained(session& s);

  // coordinator_failures.cpp
  /// Put back, or the end of the closure when it was reported too often, or badly.
  void dependency_lost(worker& w, slot c, core::failure f);
  std::string wrong_dependency(core::failure const& f) const;
  std::size_t count_report(session& s, std::string const& dependency);
  /// Whether a reported time-out was put back.
  bool bear_timeout(worker& w, slot c, core::failure const& f);

  // coordinator_watchdog.cpp
  /// At the end of each step: whether the watch begins, starts over or ends.
  void watch();
  void bark();
  std::vector<stalled_closure> oldest_running() const;

  // explain.cpp
  /// When every worker that has the function starts later; empty otherwise.
  std::string starting(function_id f) const;
  std::string not_serving(function_id f) const;
  std::string awaited_input(closure_details const& d) const;

  // invariants.cpp
  std::string leaked_place() const;
  std::string misplaced_worker() const;
  std::string miscounted_per_worker() const;
};

std::string text(session_id id);     // job_…
std::string text(closure_id id);     // cl_…
std::string text(per_worker_id id);  // pw_…

}  // namespace muster::core
