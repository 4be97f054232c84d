// Closures, tasks, jobs, and the events that the core processes. effects.hpp defines the output.
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

/// How a client receives outcomes, and how long records are kept.
enum class delivery : std::uint8_t {
  job,     ///< REST: records and values are kept until the job is forgotten
  stream,  ///< outcomes are sent and then forgotten
  /// Like `stream`, but records are kept until the client releases them.
  resumable,
  unary,    ///< like `resumable`, but the client makes unary calls
  build,    ///< internal: builds components of PerWorkerValues
  rebuild,  ///< internal: recomputes lost values
};

/// Differences between kinds of sessions. Code tests the traits instead of the kind.
struct session_traits {
  bool listed = false;         ///< closures have positions and are kept as long as the session
  bool keeps_records = false;  ///< records, values and arguments of finished closures are kept
  /// Outcomes are sent to a client, and an error ends a generation.
  bool generations = false;
  bool resumable = false;  ///< values are kept until the client, which can reconnect, releases them
  bool unary = false;      ///< resumable, and each client call renews the session's lease
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

struct closure_options {
  std::int32_t priority = 0;  // priority within the session; the highest priority runs first
  duration delay{};
  duration deadline{};  // time from scheduling to failure with TIMEOUT; 0 if there is no deadline
  std::uint32_t max_retries = 0;  // retries after errors that the function raised
  duration retry_initial = std::chrono::seconds(1);  // first pause; doubled with each retry
  // Maximum pause. Actual pauses are up to a quarter shorter.
  duration retry_max = std::chrono::minutes(1);
  std::string gang{};  // closures of one request with the same gang start together or not at all
  std::string task_job{};        // job of the allowed tasks; any job if empty
  std::int64_t task_index = -1;  // index of the allowed task; -1 means any task of the job
  std::vector<std::pair<std::string, std::string>> labels{};
  std::vector<std::pair<std::string, std::uint32_t>> resources{};

  bool operator==(closure_options const&) const = default;
};

struct input_ref {
  closure_id closure{};        // not set if `position` is used
  std::uint32_t position = 0;  // position of an earlier closure in the same request
  std::uint32_t offset = 0;    // place in the arguments where the value is inserted

  bool operator==(input_ref const&) const = default;
};

/// Rarely used data. Closures with equal extras share the object.
struct closure_extras {
  closure_options options;
  std::vector<input_ref> inputs;  // inputs, ordered by their gaps; see placeholders.hpp
  std::vector<per_worker_id> per_worker{};

  bool operator==(closure_extras const&) const = default;
};

/// The callable that a function such as "python:3.11" calls, for display.
struct callable_name {
  std::string name;
  std::string hash{};  // hash of callable_hash_bytes, or empty

  bool operator==(callable_name const&) const = default;
};
inline constexpr std::size_t callable_name_bytes_max = 256;
inline constexpr std::size_t callable_hash_bytes = 32;

struct closure_spec {
  function_id function{};
  /// Events contain a 1-based index into their callables; the core replaces it with its own number.
  /// 0 if there is no callable.
  std::uint32_t callable = 0;
  std::uint64_t token = 0;
  blob args;  // JSON: [positional…] or {"args":[…],"kwargs":{…}}; or raw bytes
  std::shared_ptr<closure_extras const> extras{};
  // On a stream, errors do not propagate between this closure and other closures.
  bool own_error = false;
};

struct session_spec {
  std::string name;
  core::on_error on_error = on_error::fail_fast;
  core::delivery delivery = delivery::job;
  // If true, the job accepts closures until it is sealed. Other sessions always accept closures.
  bool open = false;
  // Time until a resumable session is cancelled if its client is disconnected. 0 means the default.
  duration grace{};
  bool detached = false;           // whether a resumable session continues without its client
  bool require_function = false;   // whether to refuse functions that no connected worker provides
  std::size_t queue_capacity = 0;  // 0 means the default
  // 0 means the default, unless unlimited_worker_failures is set.
  std::uint32_t max_worker_failures = 0;
  bool unlimited_worker_failures = false;
  // Number of workers per stateless job; 0 means one worker per task.
  std::uint32_t num_workers = 0;
  std::uint32_t weight = 1;  // relative share of the workers, 1 to 1000
  duration deadline{};       // time from opening to failure with TIMEOUT; 0 if there is no deadline
  std::string idempotency_key;  // a repeated key returns the first session
  std::string request_digest;   // digest of the request with the key; empty if not compared
  std::string metadata;         // JSON object as text, returned unchanged
  // Id of an access token; empty without authentication. Idempotency keys are scoped to the token.
  std::string submitted_by;
  session_id retry_of{};
  // Whether a job survives a server restart. If not set, config::durable applies.
  std::optional<bool> durable{};

  bool operator==(session_spec const&) const = default;
};

struct worker_spec {
  std::string job = "worker";
  std::int64_t index = -1;       // -1 if the server assigns the index
  std::int64_t last_index = -1;  // previous index, used if it is free
  core::incarnation incarnation{};
  core::incarnation replaces{};  // process whose task is taken over
  std::uint64_t group = 0;       // id of the worker program, if any
  std::uint32_t group_size = 0;
  std::uint32_t group_position = 0;
  std::uint32_t stream = 0;  // stream number within this incarnation, from 1; 0 if unknown
  std::uint32_t slots = 1, credits = 16;
  std::vector<std::string> functions;
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<std::pair<std::string, std::uint32_t>> resources;
  std::vector<per_worker_id> per_worker;
  std::string host;
  std::string version;
  std::uint32_t pid = 0;
};

/// A closure that is running, queued, or has an unacknowledged result on a worker.
struct held_closure {
  closure_id closure{};
  std::uint32_t attempt = 0;
  bool waits = false;  // whether the closure waits for a value and occupies no slot
};

struct worker_result {
  closure_id closure{};
  std::uint32_t attempt = 0;
  bool ok = true;
  blob value;
  // Set if `ok` is false.
  std::optional<core::failure> failure{};
  duration execution{-1};  // time measured by the worker; negative if unknown
};

struct worker_attached {
  stream_id stream{};
  worker_spec spec;
  std::vector<held_closure> held{};
  // Results from before a disconnection. Some may already have been processed. Consumed by the
  // step.
  std::vector<worker_result> answers{};
  std::optional<programs_offer> programs{};
};

/// A slot has executed the closure for the duration `ran`.
struct started_closure {
  closure_id closure{};
  std::uint32_t attempt = 0;
  duration ran{};
};

/// A closure begins or ends a wait for a value. Its slot is free during the wait.
struct closure_wait {
  closure_id closure{};
  std::uint32_t attempt = 0;
  bool begins = true;
};

/// One message from a worker, with the oldest entries first. `returned` closures were never
/// started. Consumed by the step.
struct worker_results {
  stream_id stream{};
  std::vector<worker_result> results;
  std::vector<started_closure> started{};
  std::vector<held_closure> returned{};
  std::vector<closure_wait> waits{};
};

/// Any other message from a worker, which proves that the worker is alive.
struct worker_alive {
  stream_id stream{};
};

struct worker_disconnected {
  stream_id stream{};
  bool clean = false;  // whether the worker had no closures and closed the stream
  std::string reason;
  // Whether the worker may still be alive; see config::reconnect_grace.
  bool may_return = false;
  // Set if only the process that executes closures has ended. Contains the closure that the process
  // executed, or an empty closure.
  std::optional<held_closure> process_ended{};
};

/// Stops dispatching to this worker. If `tell` is set, the worker is asked to leave when it has
/// finished.
struct worker_drain {
  stream_id stream{};
  bool tell = false;
};

/// Drains a worker by name, for an operator; see worker_drain.
struct drain_task {
  call_id call{};
  std::string job;
  std::int64_t index = 0;
};

/// Stops (if `on` is set) or resumes starting closures and builds on a task. Running closures
/// continue; prefetched closures are retracted. The cordon remains if the worker is replaced or
/// disconnected.
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
  std::string client{};  // address such as "ipv4:10.0.0.7:51234", for display
  std::vector<callable_name> callables{};
};

/// Appends closures, which are consumed. If `call` is set, the reply accepts either all closures or
/// no closures. Otherwise (streams), errors are reported as outcomes. In a resumable session,
/// repeating a token only repeats the outcome, if any.
struct schedule {
  call_id call{};
  session_id session{};
  std::vector<closure_spec> closures;
  // Generation of the closures; 0 means the current generation. Closures of earlier generations are
  // CANCELLED.
  std::uint32_t generation = 0;
  // Position of the first closure in a job. Closures at existing positions are skipped.
  std::optional<std::uint64_t> first{};
  std::vector<callable_name> callables{};
};

struct seal_session {
  call_id call{};
  session_id session{};
};

struct cancel_session {
  call_id call{};
  session_id session{};
};

/// The client has left. Unfinished closures are cancelled, and the session is forgotten when none
/// is running.
struct close_session {
  session_id session{};
};

/// The stream of a resumable session broke. The session is kept for its grace period.
struct suspend_session {
  session_id session{};
};

/// The client of a resumable session has reconnected. Closures and values that the client does not
/// list are released.
struct resume_session {
  call_id call{};
  session_id session{};
  std::vector<std::uint64_t> tokens;  // tokens whose value or outcome the client needs
  std::vector<std::uint64_t> per_worker{};
  std::string client{};
};

/// The client of a resumable session no longer needs these values. Unfinished closures still run,
/// but their values are dropped. A record is kept until the token is released again after the
/// outcome was received; in a unary session, until the closure finishes. Unknown tokens and
/// closures are ignored.
struct release_values {
  call_id call{};
  session_id session{};
  std::vector<std::uint64_t> tokens;
  std::vector<closure_id> closures;
};

struct delete_session {
  call_id call{};
  session_id session{};
};

/// Repeats the failed and cancelled closures of a finished job as a new job, with the current input
/// values. Answered like open_session. Fails with FAILED_PRECONDITION if the job is unfinished or a
/// stream, if nothing failed, or if arguments or input values are no longer kept.
struct retry_job {
  call_id call{};
  session_id session{};
  std::string name{};  // name of the new job; if empty, the old job's name
  std::string submitted_by{};
};

/// Creates a value that each worker with the function builds; see component_builds.hpp.
struct create_per_worker {
  call_id call{};
  std::string name;
  function_id function{};
  blob args;
  session_id owner{};  // not set if only delete_per_worker releases the value
  /// Assigned by the owner. Repeating a token only repeats the reply. 0 if there is no token.
  std::uint64_t token = 0;
  std::string submitted_by{};
};

/// Refuses further uses of the value, and removes it after its present uses have ended.
struct delete_per_worker {
  call_id call{};
  per_worker_id id{};
  session_id owner{};  // if set, NOT_FOUND is returned unless this session owns the value
};

struct cancel_closure {
  call_id call{};
  closure_id closure{};
};

enum class join_mode : std::uint8_t {
  watch,   ///< waits until the job has finished
  drain,   ///< waits until a stream has no unfinished closure, or its error can be raised
  settle,  ///< waits until a stream is not stopping
};

/// Waits until the condition of `mode` is met, or until the deadline (DEADLINE_EXCEEDED). For a
/// stream, `watch` ends with NOT_FOUND when the client closes the stream. In a unary session,
/// `drain` or `settle` raises the error once, when its generation has no running closure.
struct join_session {
  call_id call{};
  session_id session{};
  time_point deadline = never;
  join_mode mode = join_mode::watch;
};

struct await_value {
  call_id call{};
  closure_id closure{};
  time_point deadline = never;
};

/// The caller of a waiting call has disconnected. No reply is sent.
struct call_abandoned {
  call_id call{};
};

enum class move_kind : std::uint8_t { write, read, forget, lost, copy };
/// Result of a write or read. `lost` and `copy` are usually unsolicited: the value's blob was lost,
/// or was copied to the server.
struct value_moved {
  move_kind kind{};
  closure_id closure{};
  bool ok = true;
  blob value;
  std::string error;
};
struct values_moved {
  std::vector<value_moved> moves;
};

struct tick {};

/// Shuts down: waiting and new calls are answered with UNAVAILABLE and `why`.
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
