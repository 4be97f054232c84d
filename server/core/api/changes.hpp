// State changes of a step and their reasons: all that readers learn of the core. Effects are
// outputs that a client or worker waits for; changes are only observed. Changes are complete. A
// reader that applies them from the start knows every closure, session, task and value as the core
// does; tests/core/changes_model.hpp checks this after every step of the simulators.
//
// Written where the state changes, valid until the next step. Each list is in chronological order.
// For one closure, apply `created` before `moved`, `ended` and `released`, in this order. Limit:
// the changes of one step, which the limits of its event bound. A list that one step has made large
// frees its memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/core/api/attempt_outcome.hpp"
#include "server/core/api/ids.hpp"
#include "server/core/api/incidents.hpp"
#include "server/core/api/model.hpp"
#include "server/core/api/phase.hpp"
#include "server/core/api/programs.hpp"
#include "server/core/api/time.hpp"
#include "server/core/api/vocabulary.hpp"

namespace muster::core {

struct closure_created {
  closure_id closure{};
  /// None: one of the core's own sessions, which builds or recomputes a value.
  session_id session{};
  std::uint32_t order = 0;  ///< position in its session
  function_id function{};
  bool restored = false;  ///< known from an earlier process; not news for alerts and counts

  bool operator==(closure_created const&) const = default;
};

enum class move_reason : std::uint8_t {
  waits_for_input,
  waits_for_start,  ///< a delay, a pause before a retry, or its worker's return
  waits_to_gather,  ///< for its gang, or for a worker of its own
  ready,            ///< its condition is met
  dispatched,       ///< a reconnected worker continues it; other dispatches: effects::dispatches
  started,          ///< its worker executes the closure that was prefetched to it
  preempted,        ///< it was running, and another closure has taken its slot
  taken_over,       ///< its worker's new stream holds it
  retracted,        ///< taken back for another worker
  worker_lost,      ///< its worker is lost, does not have it, or cannot run it now
  retried,          ///< its function failed, and it is retried
  runs_long,        ///< it runs long enough to wait for its worker if the server restarts
  unwanted,         ///< its client has released it; it continues, and its value is dropped
};

struct closure_moved {
  closure_id closure{};
  std::uint32_t attempt = 0;
  worker_number worker{};  ///< that holds it now; none: no worker
  closure_phase to{};
  move_reason why{};

  bool operator==(closure_moved const&) const = default;
};

/// An attempt that is not reported by closure_ended: the closure continues, or the attempt's times
/// are estimated from the worker's measurements. The worker has executed the closure, or was lost
/// with it.
struct attempt_ended {
  /// Times of attempts that took at least this long are estimated.
  static constexpr duration estimated_from = std::chrono::milliseconds(1);

  closure_id closure{};
  session_id session{};
  time_point started{};
  time_point ended{};
  function_id function{};
  std::uint32_t attempt = 0;
  worker_number worker{};
  attempt_end how{};

  bool operator==(attempt_ended const&) const = default;
};

/// A summary of an ended closure.
struct closure_outline {
  static constexpr std::uint32_t no_failure = ~0u;

  closure_id closure{};
  session_id session{};
  time_point created{};
  time_point started{};  ///< of the last attempt
  time_point finished{};
  function_id function{};
  std::uint32_t order = 0;
  std::uint32_t attempt = 0;           ///< 0: it never ran
  std::uint32_t place = ~0u;           ///< of the last attempt; see place_named
  std::uint32_t failure = no_failure;  ///< index into changes::failures
  closure_state as{};

  bool operator==(closure_outline const&) const = default;
};

/// A closure has reached its final state.
struct closure_ended {
  closure_outline of{};
  worker_number worker{};  ///< that executed it from `started` to `finished`; none: see `attempts`
  bool released = false;   ///< its record was removed at the same time
  bool restored = false;

  bool operator==(closure_ended const&) const = default;
};

/// A closure's record was removed, because its outcome is no longer needed. Closures that are
/// removed with their session are not reported one by one.
struct closure_released {
  closure_outline of{};
  release_reason why{};

  bool operator==(closure_released const&) const = default;
};

/// The name of a session or job, reported when it begins and when it ends.
struct session_named {
  session_id session{};
  std::string name;

  bool operator==(session_named const&) const = default;
};

/// The complete state of a session or job, except counts, which follow from its closures.
struct session_changed {
  session_id session{};
  delivery kind{};
  job_state state = job_state::running;
  std::uint32_t generation = 1;
  bool sealed = false;
  bool stopping = false;  ///< an error or a cancel is being processed
  bool attached = false;
  bool closed = false;  ///< its client has left
  bool restored = false;
  time_point finished{};
  bool full = false;  ///< its client was asked to stop sending

  bool operator==(session_changed const&) const = default;
};

/// A session was removed with all its remaining closures.
struct session_released {
  session_id session{};
  release_reason why{};
  std::uint64_t values = 0;  ///< number of its closures that had succeeded

  bool operator==(session_released const&) const = default;
};

/// The complete state of a task, except what it holds, which follows from closures, and heartbeats,
/// which are not reported. `gone`: its row was forgotten.
struct task_changed {
  std::string job;
  std::int64_t index = 0;
  task_state state{};
  core::incarnation incarnation{};
  time_point since{};
  bool given_up = false;
  bool cordoned = false;
  bool gone = false;

  bool operator==(task_changed const&) const = default;
};

/// A worker's stream, from attaching to dismissal. Ids are reused.
struct worker_changed {
  worker_number worker{};
  bool here = false;
  std::string job;
  std::int64_t index = 0;
  std::uint32_t slots = 0;

  bool operator==(worker_changed const&) const = default;
};

/// A place where attempts run. Numbers are reused after a place is removed.
struct place_named {
  std::uint32_t place = 0;
  bool here = true;
  std::string worker;  ///< "worker:3"
  core::incarnation incarnation{};
  std::string host;

  bool operator==(place_named const&) const = default;
};

/// The number of a function or callable. Numbers are reused.
struct function_named {
  function_id function{};
  bool here = true;
  bool callable = false;
  function_id served{};  ///< the function that workers provide; a function serves itself
  std::string name;
  std::string hash;  ///< of a callable; may be empty

  bool operator==(function_named const&) const = default;
};

/// The present place of an ended closure's value.
struct value_moved_to {
  closure_id closure{};
  value_place where{};
  release_reason why{};  ///< if gone: why
  bool restored = false;
  bool made_again = false;  ///< the value was lost before

  bool operator==(value_moved_to const&) const = default;
};

/// One worker's component of a per-worker value.
struct component_changed {
  per_worker_id value{};
  std::string job;
  std::int64_t index = 0;
  value_state state{};
  bool failed = false;
  bool gone = false;  ///< its task is no longer known

  bool operator==(component_changed const&) const = default;
};

struct per_worker_changed {
  per_worker_id value{};
  session_id owner{};
  bool released = false;
  bool gone = false;
  bool restored = false;

  bool operator==(per_worker_changed const&) const = default;
};

struct changes {
  std::vector<function_named> functions;
  std::vector<place_named> places;
  std::vector<worker_changed> workers;
  std::vector<task_changed> tasks;
  std::vector<session_named> names;
  std::vector<session_changed> sessions;
  std::vector<closure_created> created;
  std::vector<closure_moved> moved;
  std::vector<attempt_ended> attempts;
  std::vector<closure_ended> ended;
  std::vector<failure> failures;
  std::vector<value_moved_to> values;
  std::vector<closure_id> values_read;  ///< read back from disk, where they remain
  struct waits_over {
    std::vector<duration> queue;  ///< of attempts that began: time they were ready to run
    std::vector<duration> value;  ///< of calls for a value that were answered with it

    bool operator==(waits_over const&) const = default;
  } waits;
  std::vector<closure_released> released;
  std::vector<per_worker_changed> per_worker;
  std::vector<component_changed> components;
  std::vector<session_released> sessions_released;
  /// Were durable; none of their state survives the process any longer.
  std::vector<session_id> let_go;
  std::vector<program_changed> programs;
  std::vector<incident> incidents;

  void clear();
  bool operator==(changes const&) const = default;
};

}  // namespace muster::core
