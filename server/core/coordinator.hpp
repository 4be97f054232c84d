// The closure core as a state machine: each event returns effects, which are valid until the next
// step.
//
// Owned by a hub; engine thread only. No I/O, clock, random numbers, threads or logging: the same
// events at the same times produce the same effects.
//
//   caller                    coordinator
//   ──────                    ───────────
//   worker_attached      ──►  registry: task row, incarnation        ──► welcome, dispatch…
//   open_session/schedule──►  sessions, scheduler                    ──► reply, dispatch…
//   worker_results       ──►  fence by stream + attempt, finish      ──► outcome/reply, dispatch…
//   worker_disconnected  ──►  requeued at the head                   ──► dispatch…
//   tick                 ──►  silent tasks lost, deadlines reached   ──► disconnect, reply, …
#pragma once

#include <memory>
#include <variant>

#include "server/core/api/config.hpp"
#include "server/core/api/effects.hpp"
#include "server/core/api/views.hpp"

namespace muster::core {

struct server_wide;      // api/server_wide.hpp
struct use_task;         // api/objects.hpp
struct task_state_lost;  // api/objects.hpp
class session_queries;
class closure_queries;
class worker_queries;
class value_queries;
class per_worker_queries;
class function_queries;
class queue_queries;
namespace programs {
class controller;
}

class coordinator {
 public:
  explicit coordinator(config c, time_point start);
  /// For a server with several coordinators. `wide` must outlive this object and is not included in
  /// whole().
  coordinator(config c, time_point start, server_wide& wide);
  ~coordinator();
  coordinator(coordinator const&) = delete;

  /// REQUIRES: `now` is not earlier than in the previous step. If a worker violates the protocol,
  /// the effects contain a `disconnect`, and its closures are requeued. The caller must not send
  /// worker_disconnected for it.
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
  effects const& step(time_point now, call_abandoned const& e);
  effects const& step(time_point now, values_moved& e);
  effects const& step(time_point now, submit_program& e);
  effects const& step(time_point now, change_program const& e);
  effects const& step(time_point now, programs::restore_programs& e);
  effects const& step(time_point now, uploads_present const& e);
  effects const& step(time_point now, coordination_failed const& e);
  effects const& step(time_point now, program_steps_reported const& e);
  effects const& step(time_point now, program_hangs const& e);
  effects const& step(time_point now, rank_reports const& e);
  effects const& step(time_point now, use_task const& e);
  effects const& step(time_point now, task_state_lost const& e);
  effects const& step(time_point now, tick const& e);
  effects const& step(time_point now, stop const& e);

  // Queries on which callers base decisions between steps; tests/tidy limits them to twenty.
  // Queries for display belong in server/history or queries/.

  /// Returns when the next `tick` is due, or `never`.
  time_point next_deadline() const;
  config const& configuration() const;

  using any_id = std::variant<session_id, closure_id, per_worker_id, program_id>;
  /// Returns whether this coordinator owns the id or owned it recently; see server_wide.
  bool knows(any_id id) const;
  bool has(session_id id) const;
  /// Returns whether the session's queue is below its capacity. If not, the caller must not read
  /// the session's stream.
  bool has_room(session_id s) const;
  bool is_durable(session_id id) const;
  /// Returns an empty id if the closure is unknown or internal to the core.
  session_id session_of(closure_id id) const;
  /// Returns an empty id if the resumable session has no closure with this token.
  closure_id closure_of(session_id s, std::uint64_t token) const;
  /// Returns the closure's position if the stream's worker has this attempt. Returns nothing for
  /// closures that are internal to the core.
  std::optional<held_place> held(stream_id stream, closure_id closure, std::uint32_t attempt) const;

  session_queries const& sessions() const;
  closure_queries const& closures() const;
  worker_queries const& workers() const;
  value_queries const& values() const;
  per_worker_queries const& per_worker() const;
  function_queries const& functions() const;
  queue_queries const& queue() const;
  programs::controller const& programs() const;
  overview_view overview(time_point now) const;

  /// Data of a coordinator that is being removed.
  struct shutdown_report {
    std::vector<value_move> values;
    std::vector<fact> jobs;
  };
  shutdown_report forget_all() const;

  /// Returns all state as changes, for new followers and for checks of existing followers.
  changes whole() const;

  /// Returns the first violated invariant, or an empty string. For the simulator and tests.
  std::string violated_invariant() const;

 private:
  struct state;
  std::unique_ptr<server_wide> own_wide_;  // null if `wide` was passed in
  std::unique_ptr<state> state_;
};

}  // namespace muster::core
