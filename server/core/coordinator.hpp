// The whole behaviour of the server as one value: events in, effects out.
//
// Owned by the hub, used on the engine thread only. No I/O, clock, randomness, threads or logging:
// the same events at the same times give the same effects. `step` never calls out; the effects it
// returns are valid until the next step.
//
//   shell                     coordinator
//   ─────                     ───────────
//   worker_attached      ──►  registry: task row, incarnation        ──► welcome, dispatch…
//   open_session/schedule──►  sessions, scheduler                    ──► reply, dispatch…
//   worker_results       ──►  fence by stream + attempt, finish      ──► outcome/reply, dispatch…
//   worker_disconnected  ──►  requeued at the head                   ──► dispatch…
//   tick                 ──►  silent tasks lost, deadlines reached   ──► disconnect, reply, …
#pragma once

#include <memory>

#include "server/core/api/config.hpp"
#include "server/core/api/effects.hpp"
#include "server/core/api/views.hpp"

namespace muster::core {

struct running_view;       // api/activity.hpp
struct explanation;        // api/explanation.hpp
struct gangs_view;         // api/waiting_views.hpp
struct unmet_demand_view;  // the same
struct server_wide;        // api/server_wide.hpp
struct closure_query;      // api/listings.hpp, as all down to…
struct closure_cursor;
struct closure_bounds;
struct closure_look;
struct closure_groups;
struct graph_nodes;
struct value_holder;
struct worker_hands;     // …here
struct use_task;         // api/objects.hpp
struct task_state_lost;  // the same
namespace programs {
class controller;
}

class coordinator {
 public:
  explicit coordinator(config c, time_point start);
  /// One of several in a server; `wide` outlives it and is not walked with it.
  coordinator(config c, time_point start, server_wide& wide);
  ~coordinator();
  coordinator(coordinator const&) = delete;

  /// Performs one event. REQUIRES: now does not go backwards.
  /// A worker that breaks the protocol (results it does not hold, columns that do not fit) gets a
  /// `disconnect` effect and its closures go back; the shell sends no worker_disconnected for it.
  effects const& step(time_point now, event& e);
  effects const& step(time_point now, worker_attached& e);
  effects const& step(time_point now, worker_results& e);
  effects const& step(time_point now, worker_alive const& e);
  effects const& step(time_point now, worker_disconnected const& e);
  effects const& step(time_point now, worker_drain const& e);
  effects const& step(time_point now, drain_task const& e);
  effects const& step(time_point now, cordon_task const& e);
  effects const& step(time_point now, learn_functions const& e);
  effects const& step(time_point now, open_session& e);
  effects const& step(time_point now, schedule& e);
  effects const& step(time_point now, seal_session const& e);
  effects const& step(time_point now, cancel_session const& e);
  effects const& step(time_point now, close_session const& e);
  effects const& step(time_point now, suspend_session const& e);
  effects const& step(time_point now, resume_session const& e);
  effects const& step(time_point now, release_values const& e);
  effects const& step(time_point now, delete_session const& e);
  effects const& step(time_point now, retry_job& e);
  effects const& step(time_point now, restore_jobs& e);
  effects const& step(time_point now, create_per_worker& e);
  effects const& step(time_point now, delete_per_worker const& e);
  effects const& step(time_point now, cancel_closure const& e);
  effects const& step(time_point now, join_session const& e);
  effects const& step(time_point now, await_value const& e);
  effects const& step(time_point now, call_gone const& e);
  effects const& step(time_point now, values_moved& e);
  effects const& step(time_point now, submit_program& e);
  effects const& step(time_point now, change_program const& e);
  effects const& step(time_point now, programs::restore_programs& e);
  effects const& step(time_point now, uploads_seen const& e);
  effects const& step(time_point now, coordination_failed const& e);
  effects const& step(time_point now, rank_reports const& e);
  effects const& step(time_point now, use_task const& e);
  effects const& step(time_point now, task_state_lost const& e);
  effects const& step(time_point now, tick const& e);
  effects const& step(time_point now, stop const& e);

  /// When the next `tick` is due, as of the last step; `never` when nothing waits for time.
  time_point next_deadline() const;

  std::string_view function_name(function_id f) const;

  std::uint32_t connected_workers() const;
  /// How many tasks a job has, whoever is connected; see registry. Another version: it may have
  /// changed.
  std::uint32_t tasks_of(std::string const& job) const;
  std::uint64_t tasks_version() const;

  /// True while the session's queue is below its capacity (streams are read only then).
  bool has_room(session_id s) const;
  /// The closure of a resumable session's token; none when it is not known (any more).
  closure_id closure_of(session_id s, std::uint64_t token) const;

  /// Whether the stream may speak for this closure: it holds this very attempt of it. Nothing for
  /// the builder of a per-worker value, which belongs to no session.
  std::optional<held_place> held(stream_id stream, closure_id closure, std::uint32_t attempt) const;
  /// What a closure with a record calls, as people know it.
  std::string_view called(closure_id closure) const;

  /// Whether an id is, or lately was, of this one; see server_wide.
  bool knows(session_id id) const;
  bool knows(closure_id id) const;
  bool knows(per_worker_id id) const;
  bool knows(program_id id) const;
  /// It is one of several, and they keep more bytes of values than config::value_bytes_max.
  bool server_keeps_too_much() const;
  /// It keeps more of them than its share; see shared_budget.
  bool keeps_too_much() const;
  /// For one that goes: what the shell is to forget of its values.
  std::vector<value_move> forget_spilled() const;

  /// Whose closure it is; none: nobody's, or it is not there any more.
  session_id session_of(closure_id id) const;
  bool has(session_id id) const;
  /// Whether what changes of it is said as facts.
  bool is_durable(session_id id) const;
  /// Empty when there is no such session, or nobody was asked who they are.
  std::string_view submitter(session_id id) const;
  /// What one submitter has here, added to `into`.
  struct usage {
    std::uint64_t sessions = 0;  // unfinished jobs and programs, open sessions
    std::uint64_t queued = 0;    // their closures that wait
    std::uint64_t value_bytes = 0;
  };
  void add_usage(std::string_view submitter, usage& into) const;
  /// For one that goes: what is to be written down of its jobs.
  std::vector<fact> forget_durable() const;

  // Views. NOT_FOUND names the id; everything is copied.
  result<job_view> job(session_id id) const;
  /// Newest first, ids below `before` (0: from the newest), REST jobs and streams alike.
  page<job_view, session_id> jobs(session_id before, std::size_t limit) const;
  /// Since when something has waited for a worker, and none has left; never: nothing waits.
  time_point waits_since() const;
  /// Since when values cannot be written to the disk; never: they can.
  time_point disk_fails_since() const;
  /// As long as it has a record; what history remembers is in server/history/closures.hpp.
  result<closure_view> closure(closure_id id) const;
  /// Of a job, in schedule order from index `from`.
  result<page<closure_view, std::uint32_t>> closures(session_id id, std::uint32_t from,
                                                     std::size_t limit) const;
  /// Why the closure waits, moved or failed, as data.
  result<explanation> explain(closure_id id, time_point now) const;
  /// It waits for a worker, and none that is here can have it.
  bool has_no_worker(closure_id id) const;
  /// Gangs that wait, and queued closures that no connected worker could run: the oldest, as many
  /// as fit into about a millisecond; each says how many more there are.
  gangs_view gangs() const;
  unmet_demand_view unmet_demand() const;

  // Listings go over everything in steps of about a millisecond; see api/listings.hpp.
  /// Looks on from `from`, as far as one step goes.
  result<closure_look> look(closure_query const& q, closure_cursor from,
                            closure_bounds const& within) const;
  /// Goes on with the groups of a session's closures; they say when nothing is left.
  status group(session_id id, closure_groups& into) const;
  /// The same for single closures and what they wait for.
  status graph(session_id id, graph_nodes& into) const;
  /// Of sessions with ids above `after`: those that keep values. Looks at 2,000 a step.
  page<value_holder, session_id> value_holders(session_id after) const;
  /// What a worker runs and has prefetched, oldest first; at most `limit` of each.
  result<worker_hands> in_hands_of(std::string_view job, std::int64_t index,
                                   std::size_t limit) const;

  programs::controller const& programs() const;

  result<per_worker_view> per_worker(per_worker_id id) const;
  /// In order of creation, ids above `after`.
  page<per_worker_view, per_worker_id> per_worker_values(per_worker_id after,
                                                         std::size_t limit) const;

  struct task_filter {
    std::optional<task_state> state;
    std::string job;  // empty: all
  };
  /// By (job, index). `after`: rows to skip.
  page<task_view, std::size_t> tasks(std::size_t after, std::size_t limit,
                                     task_filter const& filter) const;
  result<task_view> task(std::string_view job, std::int64_t index) const;
  std::vector<function_view> functions() const;
  std::vector<shown_function_view> shown_functions() const;
  overview_view overview(time_point now) const;
  /// Closures that run on a task's worker now, oldest first; of `of` alone, when it is one.
  std::vector<running_view> running_on(std::string_view job, std::int64_t index,
                                       session_id of = {}) const;
  config const& configuration() const;

  /// All state as changes: for who begins to follow it, and to check who does.
  changes whole() const;

  /// Checks every internal invariant; for the simulator and tests. Empty when all hold, else the
  /// first that does not, in words.
  std::string violated_invariant() const;

 private:
  struct state;
  std::unique_ptr<server_wide> own_wide_;  // of one that is alone
  std::unique_ptr<state> state_;
};

}  // namespace muster::core
