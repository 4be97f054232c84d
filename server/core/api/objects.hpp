// Objects on tasks: requests, worker orders and reports, and views.
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

/// Object id (`obj_…`). Never reused, so it also identifies the incarnation that hosts the object.
enum class object_id : std::uint64_t {};

std::string text(object_id id);

/// Event: a session relies on the present state of a task of a job in config::stateful_jobs. The
/// coordinator detects losses of this state.
struct use_task {
  session_id session{};
  std::string job{};
  std::int64_t index = 0;

  bool operator==(use_task const&) const = default;
};
/// Event: a session relied on a task outside config::stateful_jobs, whose state is lost.
struct task_state_lost {
  session_id session{};
  std::string job{};
  std::int64_t index = 0;
  std::string why{};

  bool operator==(task_state_lost const&) const = default;
};

namespace objects {

using muster::name;

/// A caller that numbers its calls: a session, or the functions of a worker (by incarnation).
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
  std::string name{};
  std::string class_name{};
  std::string job{};
  std::int64_t index = 0;
  bool detached = false;
  std::uint32_t concurrency = 1;
  std::string function{};  // function that creates the object; the worker must provide it
  blob args{};
  bool json = false;  // whether the arguments of the constructor and of calls are JSON

  bool operator==(object_spec const&) const = default;
};

struct call_spec {
  std::uint64_t number = 0;
  object_id object{};
  std::string method{};
  blob args{};
};

/// Limits of objects, with the behaviour at each limit.
struct object_limits {
  // Maximum objects, including lost objects. Above this limit, new objects are refused.
  std::size_t objects_max = 10'000;
  std::size_t lost_max = 1'000;  // above this limit, the oldest lost object is forgotten
  // Unanswered or unacknowledged calls per caller. Above this limit, calls fail.
  std::size_t calls_max = 16'384;
  // Bytes of all arguments and values. With values of acknowledged calls, the limit is twice as
  // high. Above the limit, calls fail.
  std::size_t waiting_bytes_max = 256u << 20;
  // Calls of ended sessions that detached objects still have to execute. Above this limit, the next
  // session's calls are dropped.
  std::size_t left_max = 16'384;
  // Calls that a call waits for; above this limit, cycles are not detected.
  std::size_t waits_max = 1'000;
  std::size_t name_bytes_max = 256;  // maximum length of the name of an object, class or method
  std::size_t args_bytes_max = 32u << 20;  // maximum size of a call's arguments
  std::uint32_t concurrency_max = 1'000;   // maximum concurrency of an object
  std::size_t ticket_bytes_min = 16, ticket_bytes_max = 64;
  duration grace{};  // time for the task of an object to reconnect
  /// Time for which a disconnected client's names remain reserved.
  duration name_grace = std::chrono::seconds(3);
};

enum class object_state : std::uint8_t {
  pending = 0,
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

enum class object_end : std::uint8_t {
  none = 0,
  raised = 1,
  unable = 2,
  slow = 3,  ///< the worker did not accept messages in time
  task_left = 4,
  task_away = 5,
  replaced = 6,
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
inline failure because(failure_reason reason, failure of) {
  of.reason = reason;
  return of;
}

struct call_answer {
  call_name name{};
  bool ok = true;
  blob value{};
  failure why{};

  bool operator==(call_answer const&) const = default;
};

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
/// The first message on a worker's stream. The worker keeps only the objects in `kept`.
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
  object_spec spec{};  // specification without the arguments
  object_state state{};
  object_end end{};
  session_id owner{};
  std::string submitter{};
  core::incarnation
      incarnation{};  // process that hosts or creates the object; not set while disconnected
  time_point created{}, since{};  // `since` is when the object entered its state
  std::uint64_t waiting = 0;
  std::uint64_t executing = 0;  // executing calls, as reported by the worker
  std::uint64_t answered = 0;
  std::string error{};
  std::string last_error{};  // shortened error of the last failed call
};

struct object_query {
  // Selects objects of this token and objects without a submitter; if empty, all objects.
  std::string submitter{};
  std::string job{};
  std::optional<std::int64_t> index{};
  std::string class_name{};
  session_id owner{};
  std::optional<object_state> state{};
  std::string text{};  // text to find in the name or id, ignoring case
};

struct object_counts {
  std::array<std::size_t, 5> by_state{};
  std::array<std::uint64_t, enum_size<call_end>> calls{};
};

}  // namespace objects
}  // namespace muster::core
