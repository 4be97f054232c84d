// Closures, tasks, jobs, and the events that the core processes. Plain data. coordinator.hpp
// describes the effect of each event, effects.hpp the output.
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

/// How outcomes reach a session's client, and how long records are kept.
enum class delivery : std::uint8_t {
  job,     ///< over REST: records and values are kept until the job is forgotten
  stream,  ///< outcomes are delivered and forgotten
  /// As `stream`, but records are kept until the client releases them.
  resumable,
  unary,    ///< as resumable, for a client that makes calls instead of opening a stream
  build,    ///< internal: builds components of PerWorkerValues
  rebuild,  ///< internal: recomputes lost values
};

/// Differences between kinds of sessions. Transitions test these traits, never the kind.
struct session_traits {
  bool listed = false;         ///< closures have positions, and are kept as long as the session
  bool keeps_records = false;  ///< ended closures keep their records, values and arguments
  /// Outcomes are sent to a client. An error ends a generation.
  bool generations = false;
  bool resumable = false;  ///< values are kept until released by the client, which may reconnect
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

/// Options of a closure; by default it runs once, as soon as possible.
struct closure_options {
  std::int32_t priority = 0;      // within the session; higher ones first
  duration delay{};               // from scheduling to the earliest start
  duration deadline{};            // from scheduling to failure with TIMEOUT; 0: none
  std::uint32_t max_retries = 0;  // after user errors
  duration retry_initial = std::chrono::seconds(1);  // doubled with each retry
  // Actual pauses are up to a quarter shorter.
  duration retry_max = std::chrono::minutes(1);
  std::string gang{};      // closures of a request with the same gang start together or not at all
  std::string task_job{};  // run only on tasks of this job; empty: any
  std::int64_t task_index = -1;  // run only on this task of the job; -1: any
  // Required labels of the worker.
  std::vector<std::pair<std::string, std::string>> labels{};
  std::vector<std::pair<std::string, std::uint32_t>> resources{};  // occupied while it runs

  bool operator==(closure_options const&) const = default;
};

/// Another closure's output as an argument.
struct input_ref {
  closure_id closure{};        // a known closure; none: see `position`
  std::uint32_t position = 0;  // of an earlier closure in the same request
  std::uint32_t offset = 0;    // where the value is inserted into the arguments' text

  bool operator==(input_ref const&) const = default;
};

/// Rarely used parts of a closure. Equal ones are shared.
struct closure_extras {
  closure_options options;
  std::vector<input_ref> inputs;            // in order of their gaps; see placeholders.hpp
  std::vector<per_worker_id> per_worker{};  // that the arguments refer to

  bool operator==(closure_extras const&) const = default;
};

/// The callable that a function such as "python:3.11" calls, for display.
struct callable_name {
  std::string name;
  std::string hash{};  // callable_hash_bytes of it; or empty

  bool operator==(callable_name const&) const = default;
};
inline constexpr std::size_t callable_name_bytes_max = 256;
inline constexpr std::size_t callable_hash_bytes = 32;

struct closure_spec {
  function_id function{};
  /// In an event, 1-based index into the event's callables; afterwards the number assigned by the
  /// core. 0: none.
  std::uint32_t callable = 0;
  std::uint64_t token = 0;  // assigned by the client
  blob args;                // JSON: [positional…] or {"args":[…],"kwargs":{…}}; or raw bytes
  std::shared_ptr<closure_extras const> extras{};
  // On a stream: errors do not spread from this closure or to it.
  bool own_error = false;
};

struct session_spec {
  std::string name;
  core::on_error on_error = on_error::fail_fast;
  core::delivery delivery = delivery::job;
  // A job accepts closures until it is sealed; other sessions always do.
  bool open = false;
  // Resumable: time to keep it without its client. 0: the default.
  duration grace{};
  bool detached = false;                  // resumable: finishes its work without its client
  bool require_function = false;          // refuse functions that no connected worker provides
  std::size_t queue_capacity = 0;         // 0: the default
  std::uint32_t max_worker_failures = 0;  // 0: the default, unless the next member is set
  bool unlimited_worker_failures = false;
  std::uint32_t num_workers = 0;  // of each stateless job; 0: tasks_of
  std::uint32_t weight = 1;       // share of the workers relative to other sessions, 1 to 1000
  duration deadline{};            // from opening to failure with TIMEOUT; 0: none
  std::string idempotency_key;    // a repeated key returns the first session
  std::string request_digest;     // of the request that carries the key; empty: not compared
  std::string metadata;           // JSON object as text, returned unchanged
  // Id of a token; empty: no authentication. Idempotency keys belong to it.
  std::string submitted_by;
  // The job that this job retries; see retry_job.
  session_id retry_of{};
  // Whether a job survives a restart. None: as config::durable.
  std::optional<bool> durable{};

  bool operator==(session_spec const&) const = default;
};

struct worker_spec {
  std::string job = "worker";
  std::int64_t index = -1;       // -1: the server chooses
  std::int64_t last_index = -1;  // its previous index, used if it is free
  core::incarnation incarnation{};
  core::incarnation replaces{};      // process whose task it takes over; 0: none
  std::uint64_t group = 0;           // worker program; 0: none
  std::uint32_t group_size = 0;      // tasks of the program
  std::uint32_t group_position = 0;  // of this task
  std::uint32_t stream = 0;          // number of the stream of this incarnation, from 1; 0: unknown
  std::uint32_t slots = 1, credits = 16;
  std::vector<std::string> functions;
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<std::pair<std::string, std::uint32_t>> resources;
  std::vector<per_worker_id> per_worker;  // that it still keeps
  std::string host;
  std::string version;  // of the worker library
  std::uint32_t pid = 0;
};

// Events.

/// A closure that a worker still holds: running, queued, or with an unacknowledged result.
struct held_closure {
  closure_id closure{};
  std::uint32_t attempt = 0;
  bool waits = false;  // for a value, without a slot
};

struct worker_result {
  closure_id closure{};
  std::uint32_t attempt = 0;
  bool ok = true;
  blob value;  // if ok
  // Unless ok. An optional, because most results have none.
  std::optional<core::failure> failure{};
  duration execution{-1};  // measured by the worker; negative: unknown
};

struct worker_attached {
  stream_id stream{};
  worker_spec spec;
  std::vector<held_closure> held{};  // from before a disconnection
  // From before a disconnection, perhaps already processed; consumed.
  std::vector<worker_result> answers{};
  std::optional<programs_offer> programs{};  // none: it does not run ranks
};

/// A slot has executed the closure for the time `ran`.
struct started_closure {
  closure_id closure{};
  std::uint32_t attempt = 0;
  duration ran{};
};

/// A closure begins or ends waiting for a value. Its slot is free while it waits.
struct closure_wait {
  closure_id closure{};
  std::uint32_t attempt = 0;
  bool begins = true;
};

/// One message of a worker, oldest entries first. `returned` closures were never started. Consumed
/// (the blobs are moved from).
struct worker_results {
  stream_id stream{};
  std::vector<worker_result> results;
  std::vector<started_closure> started{};
  std::vector<held_closure> returned{};
  std::vector<closure_wait> waits{};  // in chronological order
};

/// Any other message; proves that the worker is alive.
struct worker_alive {
  stream_id stream{};
};

struct worker_disconnected {
  stream_id stream{};
  bool clean = false;  // closed by the worker while it held nothing
  std::string reason;  // shown on the task
  // The worker may be alive; see reconnect_grace.
  bool may_return = false;
  // Set if only the process that executes closures has ended; `reason` describes how. Contains the
  // closure that it executed, or an empty one.
  std::optional<held_closure> process_ended{};
};

/// Stops dispatching to this worker. `tell`: ask it to leave when it has finished.
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

/// Stops (`on`) or resumes new closures and builds for a task. Running closures continue;
/// prefetched ones are retracted. A cordon belongs to the task's row, whichever worker serves it,
/// connected or not.
struct cordon_task {
  call_id call{};
  std::string job;
  std::int64_t index = 0;
  bool on = true;
};

/// Assigns permanent numbers to function names. Fails at the first invalid name; the names before
/// it stay registered.
struct learn_functions {
  call_id call{};
  std::vector<std::string> names;
};

struct open_session {
  call_id call{};
  session_spec spec;
  std::vector<closure_spec> closures;
  std::string client{};                    // address such as "ipv4:10.0.0.7:51234"; only displayed
  std::vector<callable_name> callables{};  // that the closures refer to
};

/// Appends closures, which are consumed. With a call, the reply accepts all or none; without one
/// (streams), errors are reported as outcomes. A resumable session schedules a token once; a
/// repeated one only repeats the outcome, if any.
struct schedule {
  call_id call{};
  session_id session{};
  std::vector<closure_spec> closures;
  // Closures of an earlier generation are CANCELLED. 0: the current one.
  std::uint32_t generation = 0;
  // Position of the first closure of a job; existing positions are skipped.
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

/// The client has left: cancel unfinished closures, and forget the session when none runs.
struct close_session {
  session_id session{};
};

/// A resumable session's stream broke: keep the session for its grace period.
struct suspend_session {
  session_id session{};
};

/// A resumable session's client has reconnected. Closures and values that it does not list are
/// released.
struct resume_session {
  call_id call{};
  session_id session{};
  std::vector<std::uint64_t> tokens;  // whose value or outcome it needs
  // Of the PerWorkerValues that it needs.
  std::vector<std::uint64_t> per_worker{};
  std::string client{};  // as open_session::client
};

/// A resumable session's client no longer needs these values. An unfinished closure still runs; its
/// value is dropped. Its record stays until the token is released again after its outcome was
/// received; in a unary session, until it ends. Ignores unknown ones.
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

/// Repeats the closures of an ended job that failed or were cancelled, as a new job, with the same
/// arguments and options and the present values of inputs. Answered like open_session.
/// FAILED_PRECONDITION: it has not ended, nothing failed, it is a stream, or arguments or an
/// input's value are no longer kept.
struct retry_job {
  call_id call{};
  session_id session{};
  std::string name{};          // empty: as the old one
  std::string submitted_by{};  // see session_spec
};

/// Creates a value that each worker with the function builds; see component_builds.hpp.
struct create_per_worker {
  call_id call{};
  std::string name;
  function_id function{};
  blob args;
  session_id owner{};  // none: released by delete_per_worker
  /// Assigned by the owner; a repeated one only repeats the reply. 0: none.
  std::uint64_t token = 0;
  // Id of a token, if no session owns it; empty: no authentication.
  std::string submitted_by{};
};

/// Refuses further uses of the value, which is removed after the present ones have ended.
struct delete_per_worker {
  call_id call{};
  per_worker_id id{};
  session_id owner{};  // NOT_FOUND if another session owns it; none: any
};

struct cancel_closure {
  call_id call{};
  closure_id closure{};
};

enum class join_mode : std::uint8_t {
  watch,   ///< until the job has ended
  drain,   ///< of a stream: until nothing is unfinished, or its error can be raised
  settle,  ///< of a stream: until it is not stopping
};

/// Parked until the condition of `mode`, or the deadline (DEADLINE_EXCEEDED). `watch` of a stream
/// ends only with NOT_FOUND, when its client closes it. The error of a unary session is raised
/// once, by `drain` or `settle`, when no closure of its generation runs.
struct join_session {
  call_id call{};
  session_id session{};
  time_point deadline = never;
  join_mode mode = join_mode::watch;
};

/// Parked until the closure ends, or the deadline.
struct await_value {
  call_id call{};
  closure_id closure{};
  time_point deadline = never;
};

/// The caller of a parked call has disconnected; no reply is sent.
struct call_abandoned {
  call_id call{};
};

enum class move_kind : std::uint8_t { write, read, forget, lost, copy };
/// The result of a write or read; a `forget` has none. Also reports, mostly unsolicited, that the
/// value's blob is lost, or was copied to the server (`copy`).
struct value_moved {
  move_kind kind{};
  closure_id closure{};
  bool ok = true;
  blob value;         // if read
  std::string error;  // one line; unless ok
};
struct values_moved {
  std::vector<value_moved> moves;
};

struct tick {};

/// Shutdown: answers parked and new calls with UNAVAILABLE and the reason.
struct stop {
  std::string why = "the server is shutting down";
};

using event =
    std::variant<worker_attached, worker_results, worker_alive, worker_disconnected, worker_drain,
                 drain_task, cordon_task, learn_functions, open_session, schedule, seal_session,
                 cancel_session, close_session, suspend_session, resume_session, release_values,
                 delete_session, retry_job, create_per_worker, delete_per_worker, cancel_closure,
                 join_session, await_value, call_abandoned, values_moved, submit_program,
                 change_program, uploads_present, coordination_failed, program_steps_reported,
                 program_hangs, rank_reports, tick, stop>;

}  // namespace muster::core
