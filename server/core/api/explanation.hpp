// Why a closure waits, moved or failed: the result of `coordinator::explain`.
// texts/explanation_texts.hpp makes a sentence of it; clients also get the reason's name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enum_names.hpp"
#include "server/core/api/attempt_outcome.hpp"
#include "server/core/api/time.hpp"
#include "server/core/api/vocabulary.hpp"

namespace muster::core {

using muster::name;

/// Why a closure is in its state. The names are those of REST's `reason`.
enum class closure_reason : std::uint8_t {
  // BLOCKED
  input_not_ready = 0,   ///< an input has not ended
  input_read_back = 1,   ///< an input's value is being read from disk
  input_made_again = 2,  ///< an input's value was lost, and its closure runs again; also RUNNING
  // QUEUED
  delay = 3,
  retry = 4,           ///< the function raised; retried after a pause
  pause = 5,           ///< requeued, and dispatched after a pause
  may_return = 6,      ///< it ran before a restart, and its worker may return with it
  prefetched = 7,      ///< held by a worker whose slots are busy
  gang_not_ready = 8,  ///< closures of its gang are not ready
  gang_too_large = 9,  ///< the connected workers cannot hold its gang, even if idle
  gang_waits = 10,     ///< its gang waits for enough idle slots
  exclusive = 11,      ///< waits for a worker of its own
  server_stops = 12,
  no_worker = 13,
  function_unseen = 14,    ///< never provided by a worker
  function_absent = 15,    ///< not provided by a connected worker
  workers_closed = 16,     ///< workers with the function: draining, cordoned or disconnected
  workers_start = 17,      ///< recently attached; staggered start
  unsatisfiable = 18,      ///< no connected worker meets all requirements
  workers_held_back = 19,  ///< workers that meet all requirements: draining or cordoned
  busy = 20,               ///< workers that could run it are busy
  // The other states.
  running = 21,
  succeeded = 22,
  failed = 23,
  cancelled = 24,
  // RUNNING, waiting for a value.
  input_elsewhere = 25,  ///< an input is in other processes' memory
};
constexpr auto enum_names(closure_reason) {
  using enum closure_reason;
  return enumerators<closure_reason>(
      input_not_ready, "INPUT_NOT_READY", input_read_back, "INPUT_READ_BACK", input_made_again,
      "INPUT_MADE_AGAIN", delay, "DELAY", retry, "RETRY", pause, "PAUSE", may_return, "MAY_RETURN",
      prefetched, "PREFETCHED", gang_not_ready, "GANG_NOT_READY", gang_too_large, "GANG_TOO_LARGE",
      gang_waits, "GANG_WAITS", exclusive, "RUNS_ALONE", server_stops, "SERVER_STOPS", no_worker,
      "NO_WORKER", function_unseen, "FUNCTION_UNSEEN", function_absent, "FUNCTION_ABSENT",
      workers_closed, "WORKERS_CLOSED", workers_start, "WORKERS_START", unsatisfiable,
      "UNSATISFIABLE", workers_held_back, "WORKERS_HELD_BACK", busy, "BUSY", running, "RUNNING",
      succeeded, "SUCCEEDED", failed, "FAILED", cancelled, "CANCELLED", input_elsewhere,
      "INPUT_ELSEWHERE");
}

/// REQUIRES: ended(s).
constexpr closure_reason reason_of(closure_state s) {
  return s == closure_state::succeeded ? closure_reason::succeeded
         : s == closure_state::failed  ? closure_reason::failed
                                       : closure_reason::cancelled;
}

/// A requirement that no worker with the function meets.
struct unmet_need {
  enum class kind : std::uint8_t {
    by_name,   ///< to name its task, because these workers hold state
    task,      ///< to be the task `name`
    label,     ///< `name`=`value`
    resource,  ///< `amount` of `name`
    free,      ///< `amount` of `name`, which exists but is in use
    /// To have built the per-worker value `name`; `value` is the build's error, if any.
    per_worker,
  };
  kind what{};
  std::string name{};
  std::string value{};
  std::uint32_t amount = 0;
  std::uint64_t of = 0;  ///< workers that met the previous requirements

  bool operator==(unmet_need const&) const = default;
};

/// Why no worker can take a queued closure.
struct worker_shortage {
  closure_reason why = closure_reason::no_worker;
  std::string function{};
  bool ever_had = true;
  std::uint64_t connected = 0;
  std::uint64_t draining = 0, cordoned = 0, away = 0;  ///< of the workers that could run it
  std::string cordoned_task{};                         ///< the first cordoned one
  std::uint64_t starting = 0;                          ///< workers that start later
  duration starts_in{};                                ///< time until the first of them does
  std::optional<unmet_need> need{};                    ///< if unsatisfiable

  bool operator==(worker_shortage const&) const = default;
};

/// A gang that has not started.
struct gang_wait {
  std::string name{};
  std::size_t size = 0;
  std::size_t ready = 0;  ///< that wait only for the others and for workers
  bool possible = true;   ///< the connected workers could hold it when idle

  bool operator==(gang_wait const&) const = default;
};

/// A function such as "python:3.11" that is only provided in other versions.
struct version_wait {
  std::string family{};
  std::string wanted{};
  std::vector<std::string> present{};  ///< empty: no worker of the family is connected
  duration fails_in{};  ///< the closure fails then, unless a worker with the function attaches

  bool operator==(version_wait const&) const = default;
};

struct input_place {
  std::uint64_t bytes = 0;
  bool at_server = false;
  /// Tasks that hold it in memory; for input_made_again, that held it.
  std::vector<std::string> holders{};
  closure_id made_by{};        ///< input_made_again: the closure that computes it…
  duration recomputing_for{};  ///< …and how long it has run

  bool operator==(input_place const&) const = default;
};

/// A running closure waits for a value. Its slot is free.
struct value_wait {
  static constexpr std::size_t large_max = 16;
  /// Inputs that refer to large values, by hexadecimal digits. The core does not know their places.
  std::vector<std::pair<closure_id, std::string>> large{};

  bool operator==(value_wait const&) const = default;
};

struct explanation {
  closure_id closure{};
  closure_state state{};
  closure_reason why{};
  duration lasted{};  ///< waiting: since its creation; otherwise execution time
  std::string worker{};
  std::uint32_t attempt = 0;

  // Inputs.
  std::uint64_t inputs = 0, inputs_missing = 0;
  closure_id input{};                  ///< the first missing one
  closure_state input_state{};         ///< if input_not_ready
  std::optional<input_place> place{};  ///< of `input`, if known
  // Start time.
  duration starts_in{};
  std::uint32_t retries = 0, retries_max = 0;
  std::uint32_t losses = 0;  ///< pause: lost workers or processes; 0: another reason
  // Workers.
  std::optional<worker_shortage> lack{};
  std::optional<gang_wait> gang{};
  duration prefetched_for{};
  std::uint32_t slots = 0;              ///< prefetched: slots of its worker
  bool retracted = false;               ///< prefetched: it was asked back
  std::string draining_worker{};        ///< exclusive: the worker that is drained for it…
  std::uint64_t draining_closures = 0;  ///< …and the number of closures it still holds
  std::string function{};               ///< busy
  std::uint64_t function_workers = 0, function_queued = 0, function_running = 0;
  std::optional<version_wait> version{};
  // Running.
  std::optional<value_wait> waits{};
  bool stop_requested = false;
  std::optional<duration> away_for{};  ///< since its worker's disconnection
  duration requeue_in{};  ///< the closure is requeued then, unless that worker reconnects
  // Ended.
  std::optional<core::failure> error{};
  std::string released{};  ///< why its value was dropped; or empty
  bool is_row = false;     ///< only a row is left

  std::uint32_t workers_lost = 0;  ///< if it must run alone
  // The attempt before the last.
  std::uint32_t lost_attempt = 0;  ///< 0: none
  std::string lost_worker{};
  duration lost_ago{};
  attempt_outcome lost{};
};

}  // namespace muster::core
