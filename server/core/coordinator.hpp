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
#include <variant>

#include "server/core/api/config.hpp"
#include "server/core/api/effects.hpp"
#include "server/core/api/views.hpp"

namespace muster::core {

struct server_wide;      // api/server_wide.hpp
struct use_task;         // api/objects.hpp
struct task_state_lost;  // the same
class session_queries;   // queries/session_queries.hpp, as all down to…
class closure_queries;
class worker_queries;
class value_queries;
class per_worker_queries;
class function_queries;  // …here
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
  effects const& step(time_point now, program_steps_said const& e);
  effects const& step(time_point now, program_hangs const& e);
  effects const& step(time_point now, rank_reports const& e);
  effects const& step(time_point now, use_task const& e);
  effects const& step(time_point now, task_state_lost const& e);
  effects const& step(time_point now, tick const& e);
  effects const& step(time_point now, stop const& e);

  // Between steps: what shells decide with. Twenty at most (tests/tidy): what only readers want is
  // a listener below server/history, or one of the queries by subject.

  /// When the next `tick` is due, as of the last step; `never` when nothing waits for time.
  time_point next_deadline() const;
  config const& configuration() const;

  using any_id = std::variant<session_id, closure_id, per_worker_id, program_id>;
  /// Whether an id is, or lately was, of this one; see server_wide.
  bool knows(any_id id) const;
  bool has(session_id id) const;
  /// True while the session's queue is below its capacity (streams are read only then).
  bool has_room(session_id s) const;
  /// Whether what changes of it is said as facts.
  bool is_durable(session_id id) const;
  /// Whose closure it is; none: nobody's, or it is not there any more.
  session_id session_of(closure_id id) const;
  /// The closure of a resumable session's token; none when it is not known (any more).
  closure_id closure_of(session_id s, std::uint64_t token) const;
  /// Whether the stream may speak for this closure: it holds this very attempt of it. Nothing for
  /// the builder of a per-worker value, which belongs to no session.
  std::optional<held_place> held(stream_id stream, closure_id closure, std::uint32_t attempt) const;

  /// Queries by subject.
  session_queries const& sessions() const;
  closure_queries const& closures() const;
  worker_queries const& workers() const;
  value_queries const& values() const;
  per_worker_queries const& per_worker() const;
  function_queries const& functions() const;
  programs::controller const& programs() const;
  overview_view overview(time_point now) const;

  /// For one that goes: what the shell is to forget of its values and to write down of its jobs.
  struct last_will {
    std::vector<value_move> values;
    std::vector<fact> jobs;
  };
  last_will forget_all() const;

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
