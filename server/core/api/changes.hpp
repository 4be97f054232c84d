// State changes of a step. Readers have no other source of information. A reader that applies all
// changes from the start knows all closures, sessions, tasks and values.
//
// Valid until the next step. Each list is in chronological order. For each closure, apply
// `created`, `moved`, `ended` and `released` in this order.
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
  /// Not set for the core's internal sessions.
  session_id session{};
  std::uint32_t order = 0;
  function_id function{};
  bool restored = false;

  bool operator==(closure_created const&) const = default;
};

enum class move_reason : std::uint8_t {
  waits_for_input,
  waits_for_start,  ///< waiting for a delay, a retry pause, or the return of its worker
  waits_to_gather,
  ready,
  dispatched,  ///< resumed on a reconnected worker; other dispatches are in effects::dispatches
  started,
  preempted,
  taken_over,   ///< continued on the worker's new stream
  retracted,    ///< taken back so that another worker can run the closure
  worker_lost,  ///< the worker was lost, no longer has the closure, or cannot run it now
  retried,
  runs_long,  ///< running for so long that a restarted server waits for its worker
  unwanted,   ///< released by its client; it still runs, but its value will be dropped
};

struct closure_moved {
  closure_id closure{};
  std::uint32_t attempt = 0;
  worker_number worker{};
  closure_phase to{};
  move_reason why{};

  bool operator==(closure_moved const&) const = default;
};

/// An attempt that closure_ended does not report, because the closure continues or the times are
/// estimated from the worker's measurements.
struct attempt_ended {
  /// Minimum duration of attempts with estimated times.
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

struct closure_outline {
  static constexpr std::uint32_t no_failure = ~0u;

  closure_id closure{};
  session_id session{};
  time_point created{};
  time_point started{};
  time_point finished{};
  function_id function{};
  std::uint32_t order = 0;
  std::uint32_t attempt = 0;
  std::uint32_t place = ~0u;           ///< place of the last attempt; see place_named
  std::uint32_t failure = no_failure;  ///< index into changes::failures
  closure_state as{};

  bool operator==(closure_outline const&) const = default;
};

struct closure_ended {
  closure_outline of{};
  worker_number worker{};  ///< not set if no worker ran the closure; see `attempts`
  bool released = false;   ///< the closure's record was removed as well
  bool restored = false;

  bool operator==(closure_ended const&) const = default;
};

/// An unneeded closure record was removed. Not reported when the whole session is removed.
struct closure_released {
  closure_outline of{};
  release_reason why{};

  bool operator==(closure_released const&) const = default;
};

struct session_named {
  session_id session{};
  std::string name;

  bool operator==(session_named const&) const = default;
};

struct session_changed {
  session_id session{};
  delivery kind{};
  job_state state = job_state::running;
  std::uint32_t generation = 1;
  bool sealed = false;
  bool stopping = false;  ///< an error or a cancel request is being processed
  bool attached = false;
  bool closed = false;
  bool restored = false;
  time_point finished{};
  bool full = false;  ///< the client was asked to pause

  bool operator==(session_changed const&) const = default;
};

struct session_released {
  session_id session{};
  release_reason why{};
  std::uint64_t values = 0;  ///< number of succeeded closures

  bool operator==(session_released const&) const = default;
};

/// State of a task, without closures and heartbeats. `gone` is true if the task's row was removed.
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

/// A worker's stream was attached or detached. Worker numbers are reused.
struct worker_changed {
  worker_number worker{};
  bool here = false;
  std::string job;
  std::int64_t index = 0;
  std::uint32_t slots = 0;

  bool operator==(worker_changed const&) const = default;
};

/// A worker process that runs attempts. Place numbers are reused.
struct place_named {
  std::uint32_t place = 0;
  bool here = true;
  std::string worker;
  core::incarnation incarnation{};
  std::string host;

  bool operator==(place_named const&) const = default;
};

/// A function or callable. Function numbers are reused.
struct function_named {
  function_id function{};
  bool here = true;
  bool callable = false;
  function_id served{};  ///< function that workers provide for a callable
  std::string name;
  std::string hash;

  bool operator==(function_named const&) const = default;
};

struct value_place_changed {
  closure_id closure{};
  value_place where{};
  release_reason why{};
  bool restored = false;
  bool made_again = false;

  bool operator==(value_place_changed const&) const = default;
};

struct component_changed {
  per_worker_id value{};
  std::string job;
  std::int64_t index = 0;
  value_state state{};
  bool failed = false;
  bool gone = false;

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
  std::vector<value_place_changed> values;
  std::vector<closure_id> values_read;  ///< values that were read from disk and remain there
  struct waits_over {
    std::vector<duration> queue;  ///< time between readiness and start of each attempt
    std::vector<duration> value;  ///< duration of each successful request for a value

    bool operator==(waits_over const&) const = default;
  } waits;
  std::vector<closure_released> released;
  std::vector<per_worker_changed> per_worker;
  std::vector<component_changed> components;
  std::vector<session_released> sessions_released;
  /// Sessions that are no longer durable.
  std::vector<session_id> let_go;
  std::vector<program_changed> programs;
  std::vector<incident> incidents;

  void clear();
  bool operator==(changes const&) const = default;
};

}  // namespace muster::core
