// States, kinds and failures: the words that events, effects, views and texts share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.hpp"

namespace muster::core {

using muster::name;

enum class closure_state : std::uint8_t {
  blocked = 0,    ///< waits for an input
  queued = 1,     ///< waits for a worker
  running = 2,    ///< sent to a worker and not answered
  succeeded = 3,  ///< has a value
  failed = 4,     ///< has an error
  cancelled = 5,
};
constexpr auto enum_names(closure_state) {
  using enum closure_state;
  return enumerators<closure_state>(blocked, "BLOCKED", queued, "QUEUED", running, "RUNNING",
                                    succeeded, "SUCCEEDED", failed, "FAILED", cancelled,
                                    "CANCELLED");
}

/// Succeeded, failed or cancelled: nothing more happens to it.
constexpr bool ended(closure_state s) {
  return s == closure_state::succeeded || s == closure_state::failed ||
         s == closure_state::cancelled;
}

enum class value_state : std::uint8_t {
  not_ready = 0,  ///< the closure has not finished
  ready = 1,      ///< a value, or the error the function ended with
  aborted = 2,    ///< its producer was lost and will not be tried again
};
constexpr auto enum_names(value_state) {
  using enum value_state;
  return enumerators<value_state>(not_ready, "NOT_READY", ready, "READY", aborted, "ABORTED");
}

/// Why a value is not kept any more.
enum class release_reason : std::uint8_t {
  client = 0,          ///< its client released it, or took it as it came
  session_end = 1,     ///< its session has ended
  job_deleted = 2,     ///< somebody deleted its job
  jobs = 3,            ///< its job was the oldest of too many finished ones
  bytes = 4,           ///< values took too much memory
  age = 5,             ///< kept for too long
  session_values = 6,  ///< its session kept too many
  session_bytes = 7,   ///< its session's took too many bytes
  spill_bytes = 8,     ///< values took too much of the disk
  unreadable = 9,      ///< the disk did not give it back
  holder_lost = 10,    ///< it was in the memory of a worker alone, which is gone
};
constexpr auto enum_names(release_reason) {
  using enum release_reason;
  return enumerators<release_reason>(
      client, "client", session_end, "session_end", job_deleted, "job_deleted", jobs, "jobs", bytes,
      "bytes", age, "age", session_values, "session_values", session_bytes, "session_bytes",
      spill_bytes, "spill_bytes", unreadable, "unreadable", holder_lost, "holder_lost");
}
enum class failure_kind : std::uint8_t {
  user = 0,          ///< the function raised
  worker_lost = 1,   ///< its worker was lost, too often
  stale_handle = 2,  ///< the worker no longer knows the function or handle; retried. Or nobody does
  dependency_lost = 3,  ///< something the function relies on is gone
  timeout = 4,
  cancelled = 5,
  input = 6,  ///< one of its inputs failed
};
constexpr auto enum_names(failure_kind) {
  using enum failure_kind;
  return enumerators<failure_kind>(user, "USER", worker_lost, "WORKER_LOST", stale_handle,
                                   "STALE_HANDLE", dependency_lost, "DEPENDENCY_LOST", timeout,
                                   "TIMEOUT", cancelled, "CANCELLED", input, "INPUT");
}

/// Why the server itself has failed a call of an object, for callers that act upon it.
enum class failure_reason : std::uint8_t {
  unsaid,
  no_room_for_call,   ///< it was not executed
  no_room_for_value,  ///< it was executed
  server_restarted,   ///< an earlier process of the server had the object
  object_gone,        ///< deleted, or its session has ended
  ticket_refused,     ///< of no session, or the object is another token's
  call_circle,        ///< it could never be answered
  call_forgotten,     ///< whether it was executed is not known
};

enum class task_state : std::uint8_t {
  connected = 0,
  late = 1,          ///< silent for longer than it should
  error = 2,         ///< lost: its connection broke or it fell silent
  disconnected = 3,  ///< said good-bye
};
constexpr auto enum_names(task_state) {
  using enum task_state;
  return enumerators<task_state>(connected, "CONNECTED", late, "LATE", error, "ERROR", disconnected,
                                 "DISCONNECTED");
}

enum class job_state : std::uint8_t {
  running = 0,
  succeeded = 1,
  failed = 2,
  cancelled = 3,
  queued = 4,  ///< a REST job of which no closure was sent to a worker yet; never in the journal
};
constexpr auto enum_names(job_state) {
  using enum job_state;
  return enumerators<job_state>(running, "RUNNING", succeeded, "SUCCEEDED", failed, "FAILED",
                                cancelled, "CANCELLED", queued, "QUEUED");
}

/// Returns whether the job has succeeded, failed or was cancelled.
constexpr bool ended(job_state s) {
  return s != job_state::running && s != job_state::queued;
}

enum class on_error : std::uint8_t {
  fail_fast = 0,     ///< the first error cancels what is left
  continue_all = 1,  ///< every closure runs
};
constexpr auto enum_names(on_error) {
  using enum on_error;
  return enumerators<on_error>(fail_fast, "fail_fast", continue_all, "continue");
}

struct failure {
  failure_kind kind = failure_kind::user;
  std::string type;       // class of the error in its own language, may be empty
  std::string message;    // one line
  std::string traceback;  // may be empty
  std::string worker;     // "worker:3", empty when no worker was involved
  std::uint32_t attempt = 0;
  std::vector<std::string> dependencies{};  // DEPENDENCY_LOST: what is gone, "ps:1"
  std::string exception{};  // for the client that had the function run; nobody else reads it
  failure_reason reason{};  // the server's word; never a worker's

  bool operator==(failure const&) const = default;
};

}  // namespace muster::core
