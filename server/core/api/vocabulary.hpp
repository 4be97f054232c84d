// States, kinds and failures: the words that events, effects, views and texts share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::core {

enum class closure_state : std::uint8_t {
  blocked,    ///< waits for an input
  queued,     ///< waits for a worker
  running,    ///< sent to a worker and not answered
  succeeded,  ///< has a value
  failed,     ///< has an error
  cancelled,
};

/// Succeeded, failed or cancelled: nothing more happens to it.
constexpr bool ended(closure_state s) {
  return s == closure_state::succeeded || s == closure_state::failed ||
         s == closure_state::cancelled;
}

enum class value_state : std::uint8_t {
  not_ready,  ///< the closure has not finished
  ready,      ///< a value, or the error the function ended with
  aborted,    ///< its producer was lost and will not be tried again
};

/// Why a value is not kept any more.
enum class release_reason : std::uint8_t {
  client,          ///< its client released it, or took it as it came
  session_end,     ///< its session has ended
  job_deleted,     ///< somebody deleted its job
  jobs,            ///< its job was the oldest of too many finished ones
  bytes,           ///< values took too much memory
  age,             ///< kept for too long
  session_values,  ///< its session kept too many
  session_bytes,   ///< its session's took too many bytes
  spill_bytes,     ///< values took too much of the disk
  unreadable,      ///< the disk did not give it back
  holder_lost,     ///< it was in the memory of a worker alone, which is gone
};
inline constexpr std::size_t release_reasons = 11;

enum class failure_kind : std::uint8_t {
  user,             ///< the function raised
  worker_lost,      ///< its worker was lost, too often
  stale_handle,     ///< the worker no longer knows the function or handle; retried. Or nobody does
  dependency_lost,  ///< something the function relies on is gone
  timeout,
  cancelled,
  input,  ///< one of its inputs failed
};

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
  connected,
  late,          ///< silent for longer than it should
  error,         ///< lost: its connection broke or it fell silent
  disconnected,  ///< said good-bye
};

enum class job_state : std::uint8_t {
  running,
  succeeded,
  failed,
  cancelled,
  queued,  ///< a REST job of which no closure was sent to a worker yet; never in the journal
};

inline constexpr std::size_t job_states = 5;

/// Returns whether the job has succeeded, failed or was cancelled.
constexpr bool ended(job_state s) {
  return s != job_state::running && s != job_state::queued;
}

enum class on_error : std::uint8_t {
  fail_fast,     ///< the first error cancels what is left
  continue_all,  ///< every closure runs
};

std::string_view name(closure_state);   // "QUEUED"
std::string_view name(value_state);     // "NOT_READY"
std::string_view name(failure_kind);    // "WORKER_LOST"
std::string_view name(task_state);      // "CONNECTED"
std::string_view name(job_state);       // "RUNNING"
std::string_view name(on_error);        // "fail_fast", "continue"
std::string_view name(release_reason);  // "session_values"

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
