// The core's vocabulary: what closures, tasks and jobs are, and the events that go in. Plain data;
// see coordinator.hpp for what each event does, effects.hpp for what comes out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/status.hpp"
#include "server/core/api/blob.hpp"
#include "server/core/api/ids.hpp"
#include "server/core/api/ranks.hpp"
#include "server/core/api/time.hpp"
#include "server/core/api/vocabulary.hpp"

namespace muster::core {

/// What becomes of the closures of a session that have ended.
enum class delivery : std::uint8_t {
  job,        ///< over REST: records stay with their values until the job is forgotten
  stream,     ///< outcomes are delivered and forgotten
  resumable,  ///< of a stream: outcomes are delivered, records stay until they are released
  unary,      ///< as resumable; its client makes calls instead of having a stream
  build,      ///< the core's own: components of PerWorkerValues
  rebuild,    ///< the core's own: values that were lost are made again
};

/// How kinds of sessions differ. A transition asks for what it depends on, never for the kind.
struct session_traits {
  bool listed = false;         ///< closures have positions, and stay until the session is forgotten
  bool keeps_records = false;  ///< records of ended closures stay, with values and arguments
  bool generations = false;    ///< a client hears outcomes; an error ends a generation of it
  bool resumable = false;      ///< values stay until a client releases them, who may come back
  bool unary = false;          ///< resumable, and each call of the client renews its lease
};
/// In the order of `delivery`.
inline constexpr session_traits traits_by_delivery[] = {
    {.listed = true, .keeps_records = true},
    {.generations = true},
    {.keeps_records = true, .generations = true, .resumable = true},
    {.keeps_records = true, .generations = true, .resumable = true, .unary = true},
    {},
    {},
};
constexpr session_traits const& traits_of(delivery d) {
  return traits_by_delivery[static_cast<std::size_t>(d)];
}

/// What a closure may ask for beyond running once, as soon as it can.
struct closure_options {
  std::int32_t priority = 0;      // higher ones of a session are dispatched first
  duration delay{};               // not before this long after it was scheduled
  duration deadline{};            // not finished this long after it was scheduled: TIMEOUT; 0: none
  std::uint32_t max_retries = 0;  // how often a user error is tried again
  duration retry_initial = std::chrono::seconds(1);  // doubled with each retry, up to…
  duration retry_max = std::chrono::minutes(1);      // …this; a quarter less, spread by closure
  std::string gang{};      // closures of a request with the same one start together or not at all
  std::string task_job{};  // only on tasks of this job; empty: any
  std::int64_t task_index = -1;  // only on this task of the job; -1: any
  std::vector<std::pair<std::string, std::string>> labels{};  // only where all of them match
  std::vector<std::pair<std::string, std::uint32_t>>
      resources{};  // taken from the worker meanwhile

  bool operator==(closure_options const&) const = default;
};

/// Another closure's output as an argument: a closure the server knows, or one scheduled earlier in
/// the same request.
struct input_ref {
  closure_id closure{};        // none: `position` counts
  std::uint32_t position = 0;  // in the request
  std::uint32_t offset = 0;    // the gap in the arguments' text where the value belongs

  bool operator==(input_ref const&) const = default;
};

/// What only few closures bring; shared by those that bring the same.
struct closure_extras {
  closure_options options;
  std::vector<input_ref> inputs;            // in order of their gaps; see placeholders.hpp
  std::vector<per_worker_id> per_worker{};  // PerWorkerValues that the arguments name

  bool operator==(closure_extras const&) const = default;
};

/// What a function such as "python:3.11" is to call, as people know it.
struct callable_name {
  std::string name;
  std::string hash{};  // of what is called, callable_hash_bytes of it; or empty

  bool operator==(callable_name const&) const = default;
};
inline constexpr std::size_t callable_name_bytes_max = 256;
inline constexpr std::size_t callable_hash_bytes = 32;

struct closure_spec {
  function_id function{};
  /// In an event the n-th of its callables; taken up the number that the core has given it. 0:
  /// none.
  std::uint32_t callable = 0;
  std::uint64_t token = 0;  // the client's own number, returned with the outcome
  blob args;                // JSON: [positional…] or {"args":[…],"kwargs":{…}}; or raw bytes
  std::shared_ptr<closure_extras const> extras{};  // null: none
  bool own_error = false;  // of a stream: its error stops no other closure, and none stops it
};

struct session_spec {
  std::string name;
  core::on_error on_error = on_error::fail_fast;
  core::delivery delivery = delivery::job;
  bool open = false;      // of a job: more closures may come; sealed later. Others are always open
  duration grace{};       // resumable: kept this long without a sign of its client; 0: the default
  bool detached = false;  // resumable: finishes its work without its client
  bool require_function = false;   // refuse closures of functions that no connected worker has
  std::size_t queue_capacity = 0;  // 0: the default
  std::uint32_t max_worker_failures = 0;  // 0: the default, unless the next is set
  bool unlimited_worker_failures = false;
  std::uint32_t num_workers = 0;  // of each job without state, as declared; 0: tasks_of
  std::uint32_t weight = 1;       // share of the workers beside other sessions' weights, 1 to 1000
  duration deadline{};  // not finished this long after it was opened: FAILED, TIMEOUT; 0: none
  std::string idempotency_key;    // a second open with the same key returns the first session
  std::string request_digest;     // of the request that carries the key; empty: not compared
  std::string metadata;           // JSON object text, returned as it came
  std::string submitted_by;       // id of a token; empty: nobody was asked. Keys are apart by it
  session_id retry_of{};          // a job that runs again what this one did not do; see retry_job
  std::optional<bool> durable{};  // of a job: it outlives the server; none: as config::durable

  bool operator==(session_spec const&) const = default;
};

struct worker_spec {
  std::string job = "worker";
  std::int64_t index = -1;       // -1: the server picks
  std::int64_t last_index = -1;  // what it had before; picked if nobody else is there
  core::incarnation incarnation{};
  core::incarnation replaces{};      // the process whose task this one takes; 0: none
  std::uint64_t group = 0;           // of the worker program that starts it; 0: none
  std::uint32_t group_size = 0;      // tasks that the program serves
  std::uint32_t group_position = 0;  // of this task among them
  std::uint32_t stream = 0;          // of this incarnation, counted from 1; 0: it does not count
  std::uint32_t slots = 1, credits = 16;
  std::vector<std::string> functions;
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<std::pair<std::string, std::uint32_t>> resources;  // how much it has of each
  std::vector<per_worker_id> per_worker;  // what this incarnation still keeps
  std::string host;
  std::string version;  // of the worker library
  std::uint32_t pid = 0;
};

// Events, from here on.

/// A closure that a worker says it still has: it runs, waits to run, or its answer was not taken.
struct held_closure {
  closure_id closure{};
  std::uint32_t attempt = 0;
  bool waits = false;  // for a value: it has given its slot back
};

struct worker_result {
  closure_id closure{};
  std::uint32_t attempt = 0;
  bool ok = true;
  blob value;                              // ok
  std::optional<core::failure> failure{};  // !ok; most have none to carry or to clear
  duration execution{-1};                  // as the worker measured it; less than 0: it did not
};

struct worker_attached {
  stream_id stream{};
  worker_spec spec;
  std::vector<held_closure> held{};          // from before, when its connection broke
  std::vector<worker_result> answers{};      // of then, which may not have been taken; consumed
  std::optional<programs_offer> programs{};  // none: it takes no ranks
};

/// A slot has worked on it for so long.
struct started_closure {
  closure_id closure{};
  std::uint32_t attempt = 0;
  duration ran{};
};

/// It begins to wait for the value of another, so that its slot is free meanwhile; or it goes on.
struct closure_wait {
  closure_id closure{};
  std::uint32_t attempt = 0;
  bool begins = true;
};

/// One message: what has started, what has ended, what is given back without having been started,
/// oldest first. Consumed (the blobs are moved from).
struct worker_results {
  stream_id stream{};
  std::vector<worker_result> results;
  std::vector<started_closure> started{};
  std::vector<held_closure> returned{};
  std::vector<closure_wait> waits{};  // in the order in which it happened
};

/// Any other message: a sign of life.
struct worker_alive {
  stream_id stream{};
};

struct worker_disconnected {
  stream_id stream{};
  bool clean = false;       // half-closed by the worker with nothing in hand
  std::string reason;       // shown on the task
  bool may_return = false;  // the connection broke, the worker may be alive: see reconnect_grace
  // The process that executes the worker's closures has ended while the worker itself is connected;
  // `reason` says how. The closure that it executed; an empty one: it executed none.
  std::optional<held_closure> process_ended{};
};

/// No further closures for this worker. `tell` asks it to leave when it has finished its own.
struct worker_drain {
  stream_id stream{};
  bool tell = false;
};

/// As worker_drain, by name, for operators.
struct drain_task {
  call_id call{};
  std::string job;
  std::int64_t index = 0;
};

/// No new closures and no builds for this task (`on`), or again. What its worker runs goes on, what
/// was prefetched is asked back. Of the task's row: whichever worker serves it. A task that is not
/// connected can be cordoned.
struct cordon_task {
  call_id call{};
  std::string job;
  std::int64_t index = 0;
  bool on = true;
};

/// Numbers for these names; new ones are given where a name is not known. Names and numbers stay
/// for good. The first name that cannot be taken ends it; those before it are known from then on.
struct learn_functions {
  call_id call{};
  std::vector<std::string> names;
};

struct open_session {
  call_id call{};
  session_spec spec;
  std::vector<closure_spec> closures;  // consumed
  std::string client{};                // who has it: "ipv4:10.0.0.7:51234"; shown, never compared
  std::vector<callable_name> callables{};  // that the closures name
};

/// Append. With a call the answer is a reply (all or nothing); without one (streams) errors come
/// as outcomes. The vector is consumed. A resumable session schedules a token once: again, it only
/// repeats the outcome, if there is one.
struct schedule {
  call_id call{};
  session_id session{};
  std::vector<closure_spec> closures;
  std::uint32_t generation = 0;  // they belong to it or are CANCELLED; 0: to the one there is
  std::optional<std::uint64_t> first{};  // of a job: position of the first; what it has is not new
  std::vector<callable_name> callables{};  // that the closures name
};

struct seal_session {
  call_id call{};
  session_id session{};
};

struct cancel_session {
  call_id call{};
  session_id session{};
};

/// The client is gone: cancel what is left and forget the session when nothing of it runs.
struct close_session {
  session_id session{};
};

/// The stream of a resumable session broke: keep the session for its grace.
struct suspend_session {
  session_id session{};
};

/// Its client is back, on a new stream. What it does not list is released.
struct resume_session {
  call_id call{};
  session_id session{};
  std::vector<std::uint64_t> tokens;  // of closures that the client wants or has no outcome of
  std::vector<std::uint64_t> per_worker{};  // tokens of the PerWorkerValues that it wants
  std::string client{};                     // as open_session's
};

/// Nobody wants these values of a resumable session. One that has not ended still runs, its value
/// is dropped, and the record stays until its token is released again, after the outcome was taken;
/// of a unary one it goes when it ends. Unknown ones are passed over.
struct release_values {
  call_id call{};
  session_id session{};
  std::vector<std::uint64_t> tokens;
  std::vector<closure_id> closures;
};

/// Forget a finished job and release its values.
struct delete_session {
  call_id call{};
  session_id session{};
};

/// A new job of the closures of an ended one that failed or were cancelled: the same arguments and
/// options, the values of inputs as they are. Answered as open_session. FAILED_PRECONDITION says
/// why it cannot be: it has not ended, nothing of it failed, it is a stream, its arguments or the
/// value of an input are gone.
struct retry_job {
  call_id call{};
  session_id session{};
  std::string name{};          // of the new job; empty: the old one's
  std::string submitted_by{};  // of the new job; see session_spec
};

/// A value that every worker with the function builds and keeps; see component_builds.hpp.
struct create_per_worker {
  call_id call{};
  std::string name;
  function_id function{};
  blob args;
  session_id owner{};  // goes with this session; none: with delete_per_worker
  /// The owner's own number for it; again, it only repeats the answer. 0: none.
  std::uint64_t token = 0;
  std::string submitted_by{};  // id of a token, where no session owns it; empty: nobody was asked
};

/// No closure may name it any more; it goes when those that did have ended.
struct delete_per_worker {
  call_id call{};
  per_worker_id id{};
  session_id owner{};  // NOT_FOUND when it is another's; none: anybody's
};

struct cancel_closure {
  call_id call{};
  closure_id closure{};
};

enum class join_mode : std::uint8_t {
  watch,   ///< until the job has ended
  drain,   ///< of a stream: until nothing of it is left, or its error can be raised
  settle,  ///< of a stream: until it is not stopping
};

/// Parked until then or until the deadline is reached (reply DEADLINE_EXCEEDED). A stream never
/// ends by itself: a watch of one gets NOT_FOUND when its client has closed it. The error of a
/// unary session is raised once: `drain` and `settle` take it, and nothing of its generation
/// runs any more.
struct join_session {
  call_id call{};
  session_id session{};
  time_point deadline = never;
  join_mode mode = join_mode::watch;
};

/// Parked until the closure has ended or the deadline is reached.
struct await_value {
  call_id call{};
  closure_id closure{};
  time_point deadline = never;
};

/// The caller of a parked call went away: forget it, no reply.
struct call_gone {
  call_id call{};
};

enum class move_kind : std::uint8_t { write, read, forget, lost, copy };
/// What became of a value_move: written, or read back; a `forget` is not answered. Or, mostly not
/// asked for, that the blob which the value names is lost, or is at the server as well (`copy`).
struct value_moved {
  move_kind kind{};
  closure_id closure{};
  bool ok = true;
  blob value;         // read, ok
  std::string error;  // !ok: one line
};
struct values_moved {
  std::vector<value_moved> moves;
};

struct tick {};

/// Shutdown: every parked call is answered UNAVAILABLE with the reason, new ones are refused.
struct stop {
  std::string why = "the server is shutting down";
};

using event =
    std::variant<worker_attached, worker_results, worker_alive, worker_disconnected, worker_drain,
                 drain_task, cordon_task, learn_functions, open_session, schedule, seal_session,
                 cancel_session, close_session, suspend_session, resume_session, release_values,
                 delete_session, retry_job, create_per_worker, delete_per_worker, cancel_closure,
                 join_session, await_value, call_gone, values_moved, submit_program, change_program,
                 uploads_seen, coordination_failed, program_steps_said, program_hangs, rank_reports,
                 tick, stop>;

}  // namespace muster::core
