// States, kinds and failures that events, effects, views and messages share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.hpp"

namespace muster::core {

using muster::name;

enum class closure_state : std::uint8_t {
  blocked = 0,
  queued = 1,
  running = 2,  ///< sent to a worker and unanswered
  succeeded = 3,
  failed = 4,
  cancelled = 5,
};
constexpr auto enum_names(closure_state) {
  using enum closure_state;
  return enumerators<closure_state>(blocked, "BLOCKED", queued, "QUEUED", running, "RUNNING",
                                    succeeded, "SUCCEEDED", failed, "FAILED", cancelled,
                                    "CANCELLED");
}

constexpr bool ended(closure_state s) {
  return s == closure_state::succeeded || s == closure_state::failed ||
         s == closure_state::cancelled;
}

enum class value_state : std::uint8_t {
  not_ready = 0,
  ready = 1,    ///< the value or the function's error is available
  aborted = 2,  ///< the producer was lost and will not be retried
};
constexpr auto enum_names(value_state) {
  using enum value_state;
  return enumerators<value_state>(not_ready, "NOT_READY", ready, "READY", aborted, "ABORTED");
}

enum class release_reason : std::uint8_t {
  client = 0,  ///< the client released the value, or received it immediately
  session_end = 1,
  job_deleted = 2,
  jobs = 3,  ///< there were too many finished jobs, and the value's job was the oldest
  bytes = 4,
  age = 5,
  session_values = 6,
  session_bytes = 7,
  spill_bytes = 8,
  unreadable = 9,
  holder_lost = 10,  ///< the only copy was in a lost worker's memory
};
constexpr auto enum_names(release_reason) {
  using enum release_reason;
  return enumerators<release_reason>(
      client, "client", session_end, "session_end", job_deleted, "job_deleted", jobs, "jobs", bytes,
      "bytes", age, "age", session_values, "session_values", session_bytes, "session_bytes",
      spill_bytes, "spill_bytes", unreadable, "unreadable", holder_lost, "holder_lost");
}
enum class failure_kind : std::uint8_t {
  user = 0,
  worker_lost = 1,
  /// The worker no longer knows the function or handle (retried), or no worker knows it.
  stale_handle = 2,
  dependency_lost = 3,
  timeout = 4,
  cancelled = 5,
  input = 6,
};
constexpr auto enum_names(failure_kind) {
  using enum failure_kind;
  return enumerators<failure_kind>(user, "USER", worker_lost, "WORKER_LOST", stale_handle,
                                   "STALE_HANDLE", dependency_lost, "DEPENDENCY_LOST", timeout,
                                   "TIMEOUT", cancelled, "CANCELLED", input, "INPUT");
}

/// Why the server itself failed a call of an object. Clients act on the reason.
enum class failure_reason : std::uint8_t {
  unspecified,
  no_room_for_call,   ///< the call was not executed
  no_room_for_value,  ///< the call was executed
  server_restarted,   ///< the object belonged to an earlier server process
  object_gone,        ///< the object was deleted, or its session has ended
  ticket_refused,     ///< unknown ticket, or the object belongs to another token
  call_circle,        ///< calls wait for each other, so this call could never be answered
  call_forgotten,     ///< it is unknown whether the call was executed
};

enum class task_state : std::uint8_t {
  connected = 0,
  late = 1,
  error = 2,         ///< the worker was lost because the connection broke or heartbeats stopped
  disconnected = 3,  ///< the worker deregistered
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
  queued = 4,  ///< a REST job without a dispatched closure; never in the journal
};
constexpr auto enum_names(job_state) {
  using enum job_state;
  return enumerators<job_state>(running, "RUNNING", succeeded, "SUCCEEDED", failed, "FAILED",
                                cancelled, "CANCELLED", queued, "QUEUED");
}

constexpr bool ended(job_state s) {
  return s != job_state::running && s != job_state::queued;
}

enum class on_error : std::uint8_t {
  fail_fast = 0,  ///< the first error cancels the remaining closures
  continue_all = 1,
};
constexpr auto enum_names(on_error) {
  using enum on_error;
  return enumerators<on_error>(fail_fast, "fail_fast", continue_all, "continue");
}

struct failure {
  failure_kind kind = failure_kind::user;
  std::string type;     // class of the error in its language; may be empty
  std::string message;  // one line
  std::string traceback;
  std::string worker;  // "worker:3"; may be empty
  std::uint32_t attempt = 0;
  std::vector<std::string> dependencies{};  // lost dependencies, such as "ps:1"
  std::string exception{};  // serialized exception; sent only to the client that submitted the call
  failure_reason reason{};  // set by the server, never by a worker

  bool operator==(failure const&) const = default;
};

}  // namespace muster::core
