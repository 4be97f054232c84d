// Objects on tasks: what callers ask, what their workers are ordered and report, and what readers
// see of them. Plain data.
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

/// One object (`obj_…`); never used again, so it also says which incarnation of its task has it.
enum class object_id : std::uint64_t {};

std::string text(object_id id);

/// The session relies on what the task has just now: an event where the task's job is one of
/// config::stateful_jobs, whose loss the coordinator itself tells.
struct use_task {
  session_id session{};
  std::string job{};
  std::int64_t index = 0;

  bool operator==(use_task const&) const = default;
};
/// An event about a task of another job: what the session relied on is gone with it.
struct task_state_lost {
  session_id session{};
  std::string job{};
  std::int64_t index = 0;
  std::string why{};

  bool operator==(task_state_lost const&) const = default;
};

namespace objects {

using muster::name;

/// Who numbers calls: a session by its id, functions of a worker by its incarnation.
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

/// One call: unique while its caller is known.
struct call_name {
  caller_id caller{};
  std::uint64_t number = 0;

  auto operator<=>(call_name const&) const = default;
};

struct object_spec {
  std::string name{};        // empty: none
  std::string class_name{};  // for people
  std::string job{};
  std::int64_t index = 0;
  bool detached = false;  // outlives its session
  std::uint32_t concurrency = 1;
  std::string function{};  // that makes it, which its worker has to serve
  blob args{};
  bool json = false;  // they were JSON, as those of its calls are

  bool operator==(object_spec const&) const = default;
};

struct call_spec {
  std::uint64_t number = 0;
  object_id object{};
  std::string method{};
  blob args{};
};

/// What is said at each limit stands beside it.
struct object_limits {
  std::size_t objects_max = 10'000;  // with those that are lost. More: refused
  std::size_t lost_max = 1'000;      // that are remembered. More: the oldest is forgotten
  std::size_t calls_max = 16'384;    // of one caller: not answered, or not taken. More: they fail
  std::size_t waiting_bytes_max = 256u << 20;  // of arguments and values, all callers; twice that
                                               // with values of what was taken. As above
  std::size_t left_max = 16'384;  // calls of sessions that have ended, which detached objects are
                                  // still to execute, of all. More: those of the next are dropped
  std::size_t waits_max =
      1'000;  // of one call for others that are known. More: circles are not found
  std::size_t name_bytes_max = 256;        // of names, classes and methods. More: refused
  std::size_t args_bytes_max = 32u << 20;  // of one call. As above
  std::uint32_t concurrency_max = 1'000;   // As above
  std::size_t ticket_bytes_min = 16, ticket_bytes_max = 64;
  duration grace{};  // how long objects wait for their task to come back
  /// How long names stay reserved for a client that has lost its connection.
  duration name_grace = std::chrono::seconds(3);
};

enum class object_state : std::uint8_t {
  pending = 0,   ///< its task is not here yet
  starting = 1,  ///< it is being made
  ready = 2,
  failed = 3,  ///< it could not be made
  lost = 4,    ///< with its task
};
constexpr auto enum_names(object_state) {
  using enum object_state;
  return enumerators<object_state>(pending, "PENDING", starting, "STARTING", ready, "READY", failed,
                                   "FAILED", lost, "LOST");
}

/// Why it failed, or is lost.
enum class object_end : std::uint8_t {
  none = 0,       ///< it did not, and is not
  raised = 1,     ///< its class raised when it was made
  unable = 2,     ///< its worker cannot hold objects
  slow = 3,       ///< its worker did not take what was sent to it
  task_left = 4,  ///< its worker has ended
  task_away = 5,  ///< its task did not come back in time
  replaced = 6,   ///< another process has the place of its task
};
constexpr auto enum_names(object_end) {
  using enum object_end;
  return enumerators<object_end>(none, "NONE", raised, "RAISED", unable, "UNABLE", slow, "SLOW",
                                 task_left, "TASK_LEFT", task_away, "TASK_AWAY", replaced,
                                 "REPLACED");
}

/// How calls end, as readers count them.
enum class call_end : std::uint8_t { ok = 0, failed = 1, cancelled = 2, lost = 3 };
constexpr auto enum_names(call_end) {
  using enum call_end;
  return enumerators<call_end>(ok, "OK", failed, "FAILED", cancelled, "CANCELLED", lost, "LOST");
}
/// The same failure, with why the server says it.
inline failure because(failure_reason reason, failure of) {
  of.reason = reason;
  return of;
}

/// How a call, or the making of an object, has ended.
struct call_answer {
  call_name name{};
  bool ok = true;
  blob value{};
  failure why{};  // unless ok

  bool operator==(call_answer const&) const = default;
};

/// What the worker of an object is to do, in order.
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
/// The first word on each stream of a worker: it has these and no others.
struct begin_order {
  stream_id stream{};
  std::vector<object_id> kept{};

  bool operator==(begin_order const&) const = default;
};

/// A task was lost with objects.
struct objects_lost {
  std::string job{};
  std::int64_t index = 0;
  std::size_t count = 0;
  std::vector<std::string> first{};  // names, or classes, of a few that are nobody's own
  std::string why{};

  bool operator==(objects_lost const&) const = default;
};

/// What one event has led to. Begins come first, then builds, calls, drops; answers are for others.
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
  std::string submitter{};          // id of a token; empty: nobody was asked
  core::incarnation incarnation{};  // of the process that has it or makes it; none: it is away
  time_point created{}, since{};    // `since`: of the state
  std::uint64_t waiting = 0;        // calls behind others, or for it
  std::uint64_t executing = 0;      // as far as the server has heard
  std::uint64_t answered = 0;
  std::string error{};       // failed, lost
  std::string last_error{};  // of the last call that its class has failed; its beginning
};

/// Which a reader wants.
struct object_query {
  std::string submitter{};  // those of this token, and of nobody; empty: all
  std::string job{};        // empty: any
  std::optional<std::int64_t> index{};
  std::string class_name{};  // empty: any
  session_id owner{};        // none: any
  std::optional<object_state> state{};
  std::string text{};  // in the name or the id, whatever the case; empty: any
};

struct object_counts {
  std::array<std::size_t, 5> by_state{};
  std::array<std::uint64_t, enum_size<call_end>> calls{};  // by how they ended, ever
};

}  // namespace objects
}  // namespace muster::core
