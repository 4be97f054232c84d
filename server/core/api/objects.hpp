// Objects on tasks: requests, orders to workers and their reports, and views. Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "server/core/api/blob.hpp"
#include "server/core/api/ids.hpp"
#include "server/core/api/model.hpp"
#include "server/core/api/time.hpp"

namespace muster::core {

/// The id of an object (`obj_…`). Never reused, so it also identifies the incarnation that has the
/// object.
enum class object_id : std::uint64_t {};

std::string text(object_id id);

/// The session relies on the present state of a task. An event if the task's job is one of
/// config::stateful_jobs, whose losses the coordinator detects.
struct use_task {
  session_id session{};
  std::string job{};
  std::int64_t index = 0;

  bool operator==(use_task const&) const = default;
};
/// An event about a task of another job: state that the session relied on is lost.
struct task_state_lost {
  session_id session{};
  std::string job{};
  std::int64_t index = 0;
  std::string why{};

  bool operator==(task_state_lost const&) const = default;
};

namespace objects {

using muster::name;

/// A caller that numbers its calls: a session (by id), or the functions of a worker (by
/// incarnation).
struct caller_id {
  std::uint64_t number = 0;
  bool of_worker = false;

  auto operator<=>(caller_id const&) const = default;
};

inline caller_id caller_of(session_id s) {
  return {raw(s), false};
}
inline caller_id caller_of(incarnation i) {
  return {raw(i), true};
}

/// Identifies a call. Unique for as long as the caller is registered.
struct call_name {
  caller_id caller{};
  std::uint64_t number = 0;

  auto operator<=>(call_name const&) const = default;
};

struct object_spec {
  std::string name{};        // may be empty
  std::string class_name{};  // for display
  std::string job{};
  std::int64_t index = 0;
  bool detached = false;
  std::uint32_t concurrency = 1;
  std::string function{};  // creates the object; its worker must provide it
  blob args{};
  bool json = false;  // arguments of its creation and calls are JSON

  bool operator==(object_spec const&) const = default;
};

struct call_spec {
  std::uint64_t number = 0;
  object_id object{};
  std::string method{};
  blob args{};
};

/// Limits of objects. Each states what happens at the limit.
struct object_limits {
  std::size_t objects_max = 10'000;  // with lost ones; above it, refused
  std::size_t lost_max = 1'000;      // kept lost ones; above it, the oldest is forgotten
  // Unanswered or unacknowledged calls of one caller. Above it, calls fail.
  std::size_t calls_max = 16'384;
  // Arguments and values of all callers; twice that with values of acknowledged calls. Above it,
  // calls fail.
  std::size_t waiting_bytes_max = 256u << 20;
  // Calls of ended sessions that detached objects have to execute. Above it, those of the next
  // session are dropped.
  std::size_t left_max = 16'384;
  std::size_t waits_max =
      1'000;  // known waits of a call for others; above it, cycles are not found
  std::size_t name_bytes_max = 256;        // names, classes, methods; above it, refused
  std::size_t args_bytes_max = 32u << 20;  // above it, refused
  std::uint32_t concurrency_max = 1'000;   // above it, refused
  std::size_t ticket_bytes_min = 16, ticket_bytes_max = 64;
  duration grace{};  // time for an object's task to return
  /// Time for which a disconnected client's names stay reserved.
  duration name_grace = std::chrono::seconds(3);
};

enum class object_state : std::uint8_t {
  pending = 0,  ///< its task is not connected yet
  starting = 1,
  ready = 2,
  failed = 3,
  lost = 4,
};
constexpr auto enum_names(object_state) {
  using enum object_state;
  return enumerators<object_state>(pending, "PENDING", starting, "STARTING", ready, "READY", failed,
                                   "FAILED", lost, "LOST");
}

/// Why an object failed or was lost.
enum class object_end : std::uint8_t {
  none = 0,
  raised = 1,     ///< by its class, on creation
  unable = 2,     ///< its worker cannot hold objects
  slow = 3,       ///< its worker did not accept messages in time
  task_left = 4,  ///< its worker has ended
  task_away = 5,  ///< its task did not return in time
  replaced = 6,   ///< another process has taken over its task
};
constexpr auto enum_names(object_end) {
  using enum object_end;
  return enumerators<object_end>(none, "NONE", raised, "RAISED", unable, "UNABLE", slow, "SLOW",
                                 task_left, "TASK_LEFT", task_away, "TASK_AWAY", replaced,
                                 "REPLACED");
}

enum class call_end : std::uint8_t { ok = 0, failed = 1, cancelled = 2, lost = 3 };
constexpr auto enum_names(call_end) {
  using enum call_end;
  return enumerators<call_end>(ok, "OK", failed, "FAILED", cancelled, "CANCELLED", lost, "LOST");
}
/// Returns `of` with `reason` set.
inline failure because(failure_reason reason, failure of) {
  of.reason = reason;
  return of;
}

/// The result of a call or of an object's creation.
struct call_answer {
  call_name name{};
  bool ok = true;
  blob value{};
  failure why{};  // unless ok

  bool operator==(call_answer const&) const = default;
};

/// Orders to an object's worker, in sequence.
struct build_order {
  stream_id stream{};
  object_id object{};

  bool operator==(build_order const&) const = default;
};
struct call_order {
  stream_id stream{};
  object_id object{};
  call_name name{};

  bool operator==(call_order const&) const = default;
};
struct drop_order {
  stream_id stream{};
  object_id object{};

  bool operator==(drop_order const&) const = default;
};
/// The first message on a worker's stream: keep only these objects.
struct begin_order {
  stream_id stream{};
  std::vector<object_id> kept{};

  bool operator==(begin_order const&) const = default;
};

struct objects_lost {
  std::string job{};
  std::int64_t index = 0;
  std::size_t count = 0;
  std::vector<std::string> first{};  // names or classes of some objects without an owner
  std::string why{};

  bool operator==(objects_lost const&) const = default;
};

/// The results of an event. Orders are sent in the sequence begins, builds, calls, drops.
struct output {
  std::vector<begin_order> begins{};
  std::vector<build_order> builds{};
  std::vector<call_order> calls{};
  std::vector<drop_order> drops{};
  std::vector<call_answer> answers{};
  std::vector<use_task> uses{};
  std::vector<task_state_lost> losses{};
  std::vector<objects_lost> lost{};

  bool empty() const {
    return begins.empty() && builds.empty() && calls.empty() && drops.empty() && answers.empty() &&
           uses.empty() && losses.empty() && lost.empty();
  }
};

struct object_view {
  object_id id{};
  object_spec spec{};  // without arguments
  object_state state{};
  object_end end{};
  session_id owner{};
  std::string submitter{};          // id of a token; empty: no authentication
  core::incarnation incarnation{};  // of the process that has or creates it; none: away
  time_point created{}, since{};    // `since`: when the object entered its state
  std::uint64_t waiting = 0;        // queued calls
  std::uint64_t executing = 0;      // as reported by the worker
  std::uint64_t answered = 0;
  std::string error{};
  std::string last_error{};  // of the last failed call; shortened
};

struct object_query {
  std::string submitter{};  // objects of this token or without a submitter; empty: all
  std::string job{};        // empty: any
  std::optional<std::int64_t> index{};
  std::string class_name{};  // empty: any
  session_id owner{};        // none: any
  std::optional<object_state> state{};
  std::string text{};  // text in the name or id, ignoring case
};

struct object_counts {
  std::array<std::size_t, 5> by_state{};
  std::array<std::uint64_t, enum_size<call_end>> calls{};  // since the start
};

}  // namespace objects
}  // namespace muster::core
