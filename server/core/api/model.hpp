// The core's vocabulary: closures, tasks and jobs, and the events that the core processes. Plain
// data. See coordinator.hpp for the effect of each event, and effects.hpp for the output.
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

/// How outcomes of a session's closures reach its client, and how long their records are kept.
enum class delivery : std::uint8_t {
  job,     ///< over REST: records and values are kept until the job is forgotten
  stream,  ///< outcomes are delivered and forgotten
  /// A stream whose outcomes are delivered; records are kept until the client releases them.
  resumable,
  unary,    ///< as resumable, but the client makes unary calls instead of opening a stream
  build,    ///< the core's own session: builds components of PerWorkerValues
  rebuild,  ///< the core's own session: recomputes lost values
};

/// How kinds of sessions differ. Transitions test these traits, never the kind itself.
struct session_traits {
  bool listed = false;  ///< closures have positions, and are kept until the session is forgotten
  bool keeps_records = false;  ///< records of ended closures are kept, with values and arguments
  /// Outcomes are sent to a client; an error ends a generation of the session.
  bool generations = false;
  bool resumable = false;  ///< values are kept until the client, which may reconnect, releases them
  bool unary = false;      ///< resumable, and each call of the client renews its lease
};
/// Indexed by `delivery`.
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

/// Options of a closure beyond running once as soon as possible.
struct closure_options {
  std::int32_t priority = 0;      // higher ones of a session are dispatched first
  duration delay{};               // time from scheduling until the earliest start
  duration deadline{};            // time from scheduling until it fails with TIMEOUT; 0: none
  std::uint32_t max_retries = 0;  // how often it is retried after a user error
  duration retry_initial = std::chrono::seconds(1);  // doubled with each retry, up to retry_max
  // Actual pauses are up to a quarter shorter, spread by closure.
  duration retry_max = std::chrono::minutes(1);
  std::string gang{};  // closures of one request with the same gang start together or not at all
  std::string task_job{};        // job of the tasks that it may run on; empty: any
  std::int64_t task_index = -1;  // index of the only task that it may run on; -1: any
  // Runs only on workers with all of these labels.
  std::vector<std::pair<std::string, std::string>> labels{};
  std::vector<std::pair<std::string, std::uint32_t>>
      resources{};  // occupied on the worker while it runs

  bool operator==(closure_options const&) const = default;
};

/// Another closure's output as an argument. The closure is known to the server, or was scheduled
/// earlier in the same request.
struct input_ref {
  closure_id closure{};        // none: see `position`
  std::uint32_t position = 0;  // in the request
  std::uint32_t offset = 0;    // of the gap in the arguments' text where the value is inserted

  bool operator==(input_ref const&) const = default;
};

/// Rarely used parts of a closure. Shared by the closures that have equal ones.
struct closure_extras {
  closure_options options;
  std::vector<input_ref> inputs;            // in order of their gaps; see placeholders.hpp
  std::vector<per_worker_id> per_worker{};  // PerWorkerValues that the arguments refer to

  bool operator==(closure_extras const&) const = default;
};

/// The callable that a function such as "python:3.11" is to call, as shown to people.
struct callable_name {
  std::string name;
  std::string hash{};  // of the callable, callable_hash_bytes long; or empty

  bool operator==(callable_name const&) const = default;
};
inline constexpr std::size_t callable_name_bytes_max = 256;
inline constexpr std::size_t callable_hash_bytes = 32;

struct closure_spec {
  function_id function{};
  /// In an event, the 1-based index into the event's callables. After admission, the number that
  /// the core has assigned. 0: none.
  std::uint32_t callable = 0;
  std::uint64_t token = 0;  // assigned by the client, returned with the outcome
  blob args;                // JSON: [positional…] or {"args":[…],"kwargs":{…}}; or raw bytes
  std::shared_ptr<closure_extras const> extras{};  // null: none
  // Of a stream: its error cancels no other closure, and errors of others do not cancel it.
  bool own_error = false;
};

struct session_spec {
  std::string name;
  core::on_error on_error = on_error::fail_fast;
  core::delivery delivery = delivery::job;
  // A job accepts further closures until it is sealed. Other sessions always do.
  bool open = false;
  // Resumable: kept for this long without contact with its client; 0: the default.
  duration grace{};
  bool detached = false;           // resumable: finishes its work without its client
  bool require_function = false;   // refuse closures whose function no connected worker provides
  std::size_t queue_capacity = 0;  // 0: the default
  std::uint32_t max_worker_failures = 0;  // 0: the default, unless the next member is set
  bool unlimited_worker_failures = false;
  std::uint32_t num_workers = 0;  // of each stateless job, as declared; 0: tasks_of
  std::uint32_t weight = 1;       // share of the workers relative to other sessions, 1 to 1000
  duration deadline{};            // time from opening until the job fails with TIMEOUT; 0: none
  std::string idempotency_key;    // a second open with the same key returns the first session
  std::string request_digest;     // of the request that carries the key; empty: not compared
  std::string metadata;           // JSON object as text, returned unchanged
  // Id of a token; empty: without authentication. Keys are separate for each token.
  std::string submitted_by;
  // The job whose failed or cancelled closures this job repeats; see retry_job.
  session_id retry_of{};
  // Whether a job survives a server restart. None: as config::durable.
  std::optional<bool> durable{};

  bool operator==(session_spec const&) const = default;
};

struct worker_spec {
  std::string job = "worker";
  std::int64_t index = -1;       // -1: the server chooses
  std::int64_t last_index = -1;  // its previous index, chosen if it is free
  core::incarnation incarnation{};
  core::incarnation replaces{};      // the process whose task this worker takes over; 0: none
  std::uint64_t group = 0;           // of the worker program that starts it; 0: none
  std::uint32_t group_size = 0;      // tasks that the program serves
  std::uint32_t group_position = 0;  // of this task among them
  std::uint32_t stream = 0;          // of this incarnation, counted from 1; 0: not counted
  std::uint32_t slots = 1, credits = 16;
  std::vector<std::string> functions;
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<std::pair<std::string, std::uint32_t>> resources;  // total amount of each
  std::vector<per_worker_id> per_worker;  // that this incarnation still keeps
  std::string host;
  std::string version;  // of the worker library
  std::uint32_t pid = 0;
};

// Events begin here.

/// A closure that a worker reports to hold: it runs, is queued there, or its result was not
/// acknowledged.
struct held_closure {
  closure_id closure{};
  std::uint32_t attempt = 0;
  bool waits = false;  // for a value, and has released its slot
};

struct worker_result {
  closure_id closure{};
  std::uint32_t attempt = 0;
  bool ok = true;
  blob value;  // if ok
  // If not ok; an optional, because most results have none to carry or to clear.
  std::optional<core::failure> failure{};
  duration execution{-1};  // as measured by the worker; negative: not measured
};

struct worker_attached {
  stream_id stream{};
  worker_spec spec;
  std::vector<held_closure> held{};  // from before its connection broke
  // From before its connection broke, perhaps not yet processed; consumed.
  std::vector<worker_result> answers{};
  std::optional<programs_offer> programs{};  // none: the worker does not run ranks
};

/// A worker reports that a slot has executed the closure for the time `ran`.
struct started_closure {
  closure_id closure{};
  std::uint32_t attempt = 0;
  duration ran{};
};

/// The closure begins or ends waiting for another closure's value. Its slot is free while it waits.
struct closure_wait {
  closure_id closure{};
  std::uint32_t attempt = 0;
  bool begins = true;
};

/// One message of a worker: closures that have started, that have ended, and that are returned
/// without having been started, oldest first. Consumed (the blobs are moved from).
struct worker_results {
  stream_id stream{};
  std::vector<worker_result> results;
  std::vector<started_closure> started{};
  std::vector<held_closure> returned{};
  std::vector<closure_wait> waits{};  // in the order in which they happened
};

/// Any other message of a worker, which proves that it is alive.
struct worker_alive {
  stream_id stream{};
};

struct worker_disconnected {
  stream_id stream{};
  bool clean = false;  // half-closed by the worker while it held nothing
  std::string reason;  // shown on the task
  // The connection broke, and the worker may be alive: see reconnect_grace.
  bool may_return = false;
  // Set if the process that executes the worker's closures has ended while the worker stays
  // connected. `reason` describes how it ended. Contains the closure that it executed; empty if it
  // executed none.
  std::optional<held_closure> process_ended{};
};

/// Sends no further closures to this worker. `tell`: ask the worker to leave when it has finished
/// its closures.
struct worker_drain {
  stream_id stream{};
  bool tell = false;
};

/// As worker_drain, for a task by name. Sent by operators.
struct drain_task {
  call_id call{};
  std::string job;
  std::int64_t index = 0;
};

/// Sends no new closures and builds to this task (`on`), or resumes. Running closures continue, and
/// prefetched ones are retracted. A cordon belongs to the task's row, so it applies to any worker
/// that serves the task. A task that is not connected can be cordoned as well.
struct cordon_task {
  call_id call{};
  std::string job;
  std::int64_t index = 0;
  bool on = true;
};

/// Returns numbers for function names, and assigns numbers to new names. Names and numbers are
/// permanent. At the first invalid name it fails; names before it remain registered.
struct learn_functions {
  call_id call{};
  std::vector<std::string> names;
};

struct open_session {
  call_id call{};
  session_spec spec;
  std::vector<closure_spec> closures;  // consumed
  std::string client{};  // address of the client, such as "ipv4:10.0.0.7:51234"; only shown
  std::vector<callable_name> callables{};  // that the closures refer to
};

/// Appends closures to a session. With a call, the reply accepts or refuses all of them. Without a
/// call (streams), errors are reported as outcomes. The vector is consumed. A resumable session
/// schedules a token once; for a repeated token it only repeats the outcome, if there is one.
struct schedule {
  call_id call{};
  session_id session{};
  std::vector<closure_spec> closures;
  // That they belong to; closures of an older one are CANCELLED; 0: the current one.
  std::uint32_t generation = 0;
  // Position of the first closure in a job. Positions that the job already has are skipped.
  std::optional<std::uint64_t> first{};
  std::vector<callable_name> callables{};  // that the closures refer to
};

struct seal_session {
  call_id call{};
  session_id session{};
};

struct cancel_session {
  call_id call{};
  session_id session{};
};

/// The client has left for good: cancel unfinished closures, and forget the session when none of
/// them runs.
struct close_session {
  session_id session{};
};

/// The stream of a resumable session broke: keep the session for its grace period.
struct suspend_session {
  session_id session{};
};

/// The client of a resumable session has reconnected on a new stream. Closures and values that it
/// does not list are released.
struct resume_session {
  call_id call{};
  session_id session{};
  std::vector<std::uint64_t> tokens;  // of closures whose value or outcome the client still needs
  // Tokens of the PerWorkerValues that the client still needs.
  std::vector<std::uint64_t> per_worker{};
  std::string client{};  // as open_session::client
};

/// The client no longer needs these values of a resumable session. An unfinished closure still
/// runs, and its value is dropped. Its record is kept until its token is released again after the
/// outcome was received; in a unary session, until the closure ends. Unknown tokens and closures
/// are ignored.
struct release_values {
  call_id call{};
  session_id session{};
  std::vector<std::uint64_t> tokens;
  std::vector<closure_id> closures;
};

/// Forgets a finished job and releases its values.
struct delete_session {
  call_id call{};
  session_id session{};
};

/// Opens a new job from the closures of an ended job that failed or were cancelled. They keep their
/// arguments and options, and use the present values of their inputs. Answered like open_session.
/// FAILED_PRECONDITION gives the reason: the job has not ended, none of it failed, it is a stream,
/// or its arguments or the value of an input are no longer kept.
struct retry_job {
  call_id call{};
  session_id session{};
  std::string name{};          // of the new job; empty: as the old one
  std::string submitted_by{};  // of the new job; see session_spec
};

/// Creates a value that every worker with the function builds and keeps; see component_builds.hpp.
struct create_per_worker {
  call_id call{};
  std::string name;
  function_id function{};
  blob args;
  session_id owner{};  // session that it is released with; none: released by delete_per_worker
  /// The owner's own number for it. If repeated, only the reply is repeated. 0: none.
  std::uint64_t token = 0;
  // Id of a token, if no session owns it; empty: without authentication.
  std::string submitted_by{};
};

/// New closures cannot refer to the value any longer. It is removed when the closures that refer to
/// it have ended.
struct delete_per_worker {
  call_id call{};
  per_worker_id id{};
  session_id owner{};  // NOT_FOUND if another session owns it; none: any owner
};

struct cancel_closure {
  call_id call{};
  closure_id closure{};
};

enum class join_mode : std::uint8_t {
  watch,   ///< until the job has ended
  drain,   ///< of a stream: until it has no unfinished closures, or its error can be raised
  settle,  ///< of a stream: until it is not stopping
};

/// Parked until the condition of `mode` is met, or until the deadline (DEADLINE_EXCEEDED). A stream
/// never ends by itself: `watch` of a stream gets NOT_FOUND when its client has closed it. The
/// error of a unary session is raised once: `drain` and `settle` consume it when no closure of its
/// generation runs any longer.
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

/// The caller of a parked call has disconnected: forget the call, without a reply.
struct call_gone {
  call_id call{};
};

enum class move_kind : std::uint8_t { write, read, forget, lost, copy };
/// The result of a value_move: written, or read back. A `forget` has no result. Also reports,
/// mostly unsolicited, that the blob which the value refers to is lost (`lost`), or was copied to
/// the server (`copy`).
struct value_moved {
  move_kind kind{};
  closure_id closure{};
  bool ok = true;
  blob value;         // if read, and ok
  std::string error;  // if not ok: one line
};
struct values_moved {
  std::vector<value_moved> moves;
};

struct tick {};

/// Shutdown: every parked call is answered with UNAVAILABLE and the reason, and new calls are
/// refused.
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
