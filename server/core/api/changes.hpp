// What became of what in a step, and why: the only word that readers get of the core. Effects are
// what somebody waits for; a change is what nobody waits for. Changes are complete: who folds them
// from the start knows every closure, session, task and value as the core does
// (tests/core/changes_model.hpp does, after every step of the simulators).
//
// Written where the state changes, valid until the next step. Within one of these lists they stand
// in the order in which they happened; of one closure, `created` comes before `moved`, `ended` and
// `released` in this order. Limit: what one step changes, which its event's limits bound. A list
// gives its memory back when one step has made it large.
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
  session_id session{};     ///< none: of the core's own, to build a value or make one again
  std::uint32_t order = 0;  ///< position in its session
  function_id function{};
  bool restored = false;  ///< known from an earlier process: no news for alerts and counts

  bool operator==(closure_created const&) const = default;
};

enum class move_reason : std::uint8_t {
  waits_for_input,
  waits_for_start,  ///< a delay, a pause before it is tried again, or its worker's return
  waits_to_gather,  ///< for its gang, or for a worker of its own
  ready,            ///< what it waited for is there
  dispatched,       ///< by name: what is sent is said by effects::dispatches
  started,          ///< its worker works on what was prefetched to it
  preempted,        ///< another has its slot: it was taken to run, and does not
  taken_over,       ///< its worker's new stream has it
  retracted,        ///< asked back for another worker
  worker_lost,      ///< or its worker does not have it, or cannot run it now
  retried,          ///< its function failed, and it is tried again
  runs_long,        ///< long enough that its worker is waited for if the server goes
  unwanted,         ///< its client has released it: it goes on, its value is for nobody
};

struct closure_moved {
  closure_id closure{};
  std::uint32_t attempt = 0;
  worker_number worker{};  ///< that has it now; none: nobody
  closure_phase to{};
  move_reason why{};

  bool operator==(closure_moved const&) const = default;
};

/// A worker has executed a closure, or is lost with it: those that no closure_ended tells of, since
/// the closure goes on, or since the times are estimated from what the worker has measured.
struct attempt_ended {
  /// Times of those that took this long are estimated.
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

/// What is known of a closure that has ended.
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
  std::uint32_t failure = no_failure;  ///< position in changes::failures
  closure_state as{};

  bool operator==(closure_outline const&) const = default;
};

/// Its state is its last.
struct closure_ended {
  closure_outline of{};
  worker_number worker{};  ///< that executed it from `started` to `finished`; none: see `attempts`
  bool released = false;   ///< its record is gone with it
  bool restored = false;

  bool operator==(closure_ended const&) const = default;
};

/// Nobody asks for its outcome any more: its record is gone. Closures that go with their session
/// are not told of one by one.
struct closure_released {
  closure_outline of{};
  release_reason why{};

  bool operator==(closure_released const&) const = default;
};

/// What a session or job is called, from its beginning to its end.
struct session_named {
  session_id session{};
  std::string name;

  bool operator==(session_named const&) const = default;
};

/// All that a session or job is, but for counts, which its closures say.
struct session_changed {
  session_id session{};
  delivery kind{};
  job_state state = job_state::running;
  std::uint32_t generation = 1;
  bool sealed = false;
  bool stopping = false;  ///< an error or a cancel is being drained
  bool attached = false;
  bool closed = false;  ///< its client is gone
  bool restored = false;
  time_point finished{};
  bool full = false;  ///< told to hold back

  bool operator==(session_changed const&) const = default;
};

/// With all closures that it has left.
struct session_released {
  session_id session{};
  release_reason why{};
  std::uint64_t values = 0;  ///< so many of its closures had succeeded

  bool operator==(session_released const&) const = default;
};

/// All that a task is, but for what it holds, which closures say, and its heartbeats, which are no
/// changes. `gone`: its row was forgotten.
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

/// A stream of a worker, from when it attaches until it is dismissed. Ids are used again.
struct worker_changed {
  worker_number worker{};
  bool here = false;
  std::string job;
  std::int64_t index = 0;
  std::uint32_t slots = 0;

  bool operator==(worker_changed const&) const = default;
};

/// Where attempts run: numbers are used again once a place is gone.
struct place_named {
  std::uint32_t place = 0;
  bool here = true;
  std::string worker;  ///< "worker:3"
  core::incarnation incarnation{};
  std::string host;

  bool operator==(place_named const&) const = default;
};

/// A number of a function, or of what a function is asked to call. Numbers are used again.
struct function_named {
  function_id function{};
  bool here = true;
  bool callable = false;
  function_id served{};  ///< its function, that workers have; of a function itself
  std::string name;
  std::string hash;  ///< of a callable; or empty

  bool operator==(function_named const&) const = default;
};

/// Where the value of an ended closure is now.
struct value_moved_to {
  closure_id closure{};
  value_place where{};
  release_reason why{};  ///< gone: why
  bool restored = false;
  bool made_again = false;  ///< it was gone

  bool operator==(value_moved_to const&) const = default;
};

/// One worker's component of a value that each builds for itself.
struct component_changed {
  per_worker_id value{};
  std::string job;
  std::int64_t index = 0;
  value_state state{};
  bool failed = false;
  bool gone = false;  ///< nobody knows its task any more

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
  std::vector<closure_id> values_read;  ///< back from the disk, where they stay
  struct waits_over {
    std::vector<duration> queue;  ///< of attempts that began: ready to run for so long
    std::vector<duration> value;  ///< of calls for a value that were answered with it

    bool operator==(waits_over const&) const = default;
  } waits;
  std::vector<closure_released> released;
  std::vector<per_worker_changed> per_worker;
  std::vector<component_changed> components;
  std::vector<session_released> sessions_released;
  std::vector<session_id> let_go;  ///< were durable: nothing of them outlives the process any more
  std::vector<program_changed> programs;
  std::vector<incident> incidents;

  void clear();
  bool operator==(changes const&) const = default;
};

}  // namespace muster::core
