// Why a closure waits, was moved or failed: the result of `coordinator::explain`.
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

/// Why a closure is in its state. REST reports the name as `reason`.
enum class closure_reason : std::uint8_t {
  // Reasons while BLOCKED:
  input_not_ready = 0,
  input_read_back = 1,   ///< the value of an input is being read from disk
  input_made_again = 2,  ///< an input's lost value is being recomputed; also used while RUNNING
  // Reasons while QUEUED:
  delay = 3,
  retry = 4,
  pause = 5,
  may_return = 6,  ///< the closure ran before a server restart, and its worker may reconnect
  prefetched = 7,
  gang_not_ready = 8,
  gang_too_large = 9,  ///< the connected workers are too small for the gang, even when idle
  gang_waits = 10,
  exclusive = 11,  ///< the closure waits for a worker that runs nothing else
  server_stops = 12,
  no_worker = 13,
  function_unseen = 14,  ///< no worker has ever provided the function
  function_absent = 15,
  workers_closed = 16,  ///< the workers with the function are draining, cordoned or disconnected
  workers_start = 17,   ///< the workers are in their start delay
  unsatisfiable = 18,
  workers_held_back = 19,  ///< the workers that meet all requirements are draining or cordoned
  busy = 20,
  running = 21,
  succeeded = 22,
  failed = 23,
  cancelled = 24,
  input_elsewhere = 25,  ///< while RUNNING: an input is in the memory of other processes
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
    by_name,  ///< the closure must name the task, because the workers hold state
    task,
    label,     ///< `name`=`value`
    resource,  ///< `amount` of `name`
    free,      ///< `amount` of `name`, which exists but is in use
    /// Must have built the per-worker value `name`. `value` is the build error, if any.
    per_worker,
  };
  kind what{};
  std::string name{};
  std::string value{};
  std::uint32_t amount = 0;
  std::uint64_t of = 0;  ///< number of workers that met the previous requirements

  bool operator==(unmet_need const&) const = default;
};

struct worker_shortage {
  closure_reason why = closure_reason::no_worker;
  std::string function{};
  bool ever_had = true;
  std::uint64_t connected = 0;
  std::uint64_t draining = 0, cordoned = 0,
                away = 0;  ///< numbers of workers that could otherwise run the closure
  std::string cordoned_task{};
  std::uint64_t starting = 0;
  duration starts_in{};  ///< time until the first start delay ends
  std::optional<unmet_need> need{};

  bool operator==(worker_shortage const&) const = default;
};

struct gang_wait {
  std::string name{};
  std::size_t size = 0;
  std::size_t ready = 0;  ///< closures that wait only for the rest of the gang and for workers
  bool possible = true;   ///< whether the connected workers could run the gang when idle

  bool operator==(gang_wait const&) const = default;
};

/// A function, such as "python:3.11", that workers provide only in other versions.
struct version_wait {
  std::string family{};
  std::string wanted{};
  std::vector<std::string> present{};  ///< empty if no worker of the family is connected
  duration fails_in{};  ///< time until the closure fails if the version stays missing

  bool operator==(version_wait const&) const = default;
};

struct input_place {
  std::uint64_t bytes = 0;
  bool at_server = false;
  /// Tasks that have (for input_made_again: had) the value in memory.
  std::vector<std::string> holders{};
  closure_id made_by{};
  duration recomputing_for{};

  bool operator==(input_place const&) const = default;
};

/// A running closure waits for a value and has released its slot.
struct value_wait {
  static constexpr std::size_t large_max = 16;
  /// Inputs with large values, and the digests in hexadecimal. The core does not know where the
  /// values are stored.
  std::vector<std::pair<closure_id, std::string>> large{};

  bool operator==(value_wait const&) const = default;
};

struct explanation {
  closure_id closure{};
  closure_state state{};
  closure_reason why{};
  duration lasted{};  ///< time since creation while waiting; otherwise execution time
  std::string worker{};
  std::uint32_t attempt = 0;

  std::uint64_t inputs = 0, inputs_missing = 0;
  closure_id input{};
  closure_state input_state{};
  std::optional<input_place> place{};
  duration starts_in{};
  std::uint32_t retries = 0, retries_max = 0;
  /// Lost workers or processes that caused a pause; 0 for any other reason.
  std::uint32_t losses = 0;
  std::optional<worker_shortage> lack{};
  std::optional<gang_wait> gang{};
  duration prefetched_for{};
  std::uint32_t slots = 0;
  bool retracted = false;  ///< the worker was asked to return the prefetched closure
  std::string draining_worker{};
  std::uint64_t draining_closures = 0;
  std::string function{};
  std::uint64_t function_workers = 0, function_queued = 0, function_running = 0;
  std::optional<version_wait> version{};
  std::optional<value_wait> waits{};
  bool stop_requested = false;
  std::optional<duration> away_for{};
  duration requeue_in{};  ///< time until the closure is requeued, unless the worker reconnects
  std::optional<core::failure> error{};
  std::string released{};
  bool is_row = false;  ///< the record was removed, and only its row is left

  std::uint32_t workers_lost = 0;
  // Previous attempt; lost_attempt is 0 if there is none.
  std::uint32_t lost_attempt = 0;
  std::string lost_worker{};
  duration lost_ago{};
  attempt_outcome lost{};
};

}  // namespace muster::core
