// State changes of a step and their reasons. Readers learn of the core's state only from these.
// (Effects are outputs that a client or worker waits for.) Changes are complete: a reader that
// applies them from the start knows all closures, sessions, tasks and values.
// tests/core/changes_model.hpp checks this after every step of the simulators.
//
// Valid until the next step. Each list is in chronological order. For one closure, apply `created`,
// `moved`, `ended`, `released` in this sequence. Limit: the changes of one step, bounded by the
// limits of its event. A list that grew large in one step frees its memory.
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
  /// None: one of the core's own sessions.
  session_id session{};
  std::uint32_t order = 0;  ///< in its session
  function_id function{};
  bool restored = false;  ///< from an earlier process; not news

  bool operator==(closure_created const&) const = default;
};

enum class move_reason : std::uint8_t {
  waits_for_input,
  waits_for_start,  ///< a delay, a pause before a retry, or its worker's return
  waits_to_gather,  ///< for its gang, or for a worker of its own
  ready,
  dispatched,   ///< to a reconnected worker that holds it; others are in effects::dispatches
  started,      ///< a prefetched closure began to run
  preempted,    ///< another closure has taken its slot
  taken_over,   ///< its worker's new stream holds it
  retracted,    ///< taken back for another worker
  worker_lost,  ///< its worker is lost, does not hold it, or cannot run it now
  retried,
  runs_long,  ///< long enough to wait for its worker if the server restarts
  unwanted,   ///< released by its client; it continues, and its value is dropped
};

struct closure_moved {
  closure_id closure{};
  std::uint32_t attempt = 0;
  worker_number worker{};  ///< that holds it; or none
  closure_phase to{};
  move_reason why{};

  bool operator==(closure_moved const&) const = default;
};

/// An attempt that closure_ended does not report: the closure continues, or the times are estimated
/// from the worker's measurements.
struct attempt_ended {
  /// Attempts of at least this length have estimated times.
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
  time_point started{};  ///< of the last attempt
  time_point finished{};
  function_id function{};
  std::uint32_t order = 0;
  std::uint32_t attempt = 0;           ///< 0: it never ran
  std::uint32_t place = ~0u;           ///< of the last attempt, see place_named
  std::uint32_t failure = no_failure;  ///< index into changes::failures
  closure_state as{};

  bool operator==(closure_outline const&) const = default;
};

/// A closure has reached its final state.
struct closure_ended {
  closure_outline of{};
  worker_number worker{};  ///< that executed it; none: see `attempts`
  bool released = false;   ///< its record was removed as well
  bool restored = false;

  bool operator==(closure_ended const&) const = default;
};

/// The record of an unneeded closure was removed. Not reported for closures that are removed with
/// their session.
struct closure_released {
  closure_outline of{};
  release_reason why{};

  bool operator==(closure_released const&) const = default;
};

/// The name of a session or job.
struct session_named {
  session_id session{};
  std::string name;

  bool operator==(session_named const&) const = default;
};

/// The state of a session or job, except counts of its closures.
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
  bool full = false;  ///< its client was asked to pause

  bool operator==(session_changed const&) const = default;
};

/// A session was removed with all its closures.
struct session_released {
  session_id session{};
  release_reason why{};
  std::uint64_t values = 0;  ///< closures that had succeeded

  bool operator==(session_released const&) const = default;
};

/// The state of a task, except its closures and heartbeats. `gone`: its row was removed.
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

/// A worker's stream was attached or dismissed. Ids are reused.
struct worker_changed {
  worker_number worker{};
  bool here = false;
  std::string job;
  std::int64_t index = 0;
  std::uint32_t slots = 0;

  bool operator==(worker_changed const&) const = default;
};

/// A place where attempts run. Numbers are reused.
struct place_named {
  std::uint32_t place = 0;
  bool here = true;
  std::string worker;
  core::incarnation incarnation{};
  std::string host;

  bool operator==(place_named const&) const = default;
};

/// The number of a function or callable. Numbers are reused.
struct function_named {
  function_id function{};
  bool here = true;
  bool callable = false;
  function_id served{};  ///< the function that workers provide
  std::string name;
  std::string hash;  ///< may be empty

  bool operator==(function_named const&) const = default;
};

/// The new place of an ended closure's value.
struct value_place_changed {
  closure_id closure{};
  value_place where{};
  release_reason why{};  ///< if gone
  bool restored = false;
  bool made_again = false;  ///< it had been lost

  bool operator==(value_place_changed const&) const = default;
};

/// One worker's component of a per-worker value.
struct component_changed {
  per_worker_id value{};
  std::string job;
  std::int64_t index = 0;
  value_state state{};
  bool failed = false;
  bool gone = false;  ///< its task was forgotten

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
  std::vector<closure_id> values_read;  ///< read from disk, where they remain
  struct waits_over {
    std::vector<duration> queue;  ///< of started attempts: time they were ready to run
    std::vector<duration> value;  ///< of successful calls for a value

    bool operator==(waits_over const&) const = default;
  } waits;
  std::vector<closure_released> released;
  std::vector<per_worker_changed> per_worker;
  std::vector<component_changed> components;
  std::vector<session_released> sessions_released;
  /// No longer durable.
  std::vector<session_id> let_go;
  std::vector<program_changed> programs;
  std::vector<incident> incidents;

  void clear();
  bool operator==(changes const&) const = default;
};

}  // namespace muster::core
