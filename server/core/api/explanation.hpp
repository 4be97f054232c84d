// Why a closure waits, moved or failed, as data: the result of `coordinator::explain`.
// words/explanation_words.hpp makes a sentence of it. Clients also get the reason's name, so they
// need not parse the sentence.
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

/// Why a closure is in its state. Names are those of REST's `reason`.
enum class closure_reason : std::uint8_t {
  // BLOCKED
  input_not_ready = 0,   ///< an input has not ended
  input_read_back = 1,   ///< an input's value is being read from disk
  input_made_again = 2,  ///< an input's value was lost, and its closure runs again; also RUNNING
  // QUEUED
  delay = 3,               ///< it was scheduled with a delay
  retry = 4,               ///< the function raised, and is retried after a pause
  pause = 5,               ///< it was requeued, and is dispatched after a pause
  may_return = 6,          ///< it ran when the server restarted, and its worker may return with it
  prefetched = 7,          ///< a worker holds it in addition to those that its slots execute
  gang_not_ready = 8,      ///< other closures of its gang are not ready to start
  gang_too_large = 9,      ///< the connected workers cannot hold its gang, even when idle
  gang_waits = 10,         ///< its gang waits for enough idle slots
  exclusive = 11,          ///< it waits for a worker that executes nothing else
  server_stops = 12,       ///< the server is shutting down
  no_worker = 13,          ///< no worker is connected
  function_unseen = 14,    ///< no worker has provided the function
  function_absent = 15,    ///< no connected worker provides the function
  workers_closed = 16,     ///< workers with the function are draining, cordoned, or disconnected
  workers_start = 17,      ///< workers with the function attached recently, and start staggered
  unsatisfiable = 18,      ///< no connected worker meets all its requirements
  workers_held_back = 19,  ///< workers that could run it are draining or cordoned
  busy = 20,               ///< workers that could run it are busy
  // The other states have one reason each.
  running = 21,
  succeeded = 22,
  failed = 23,
  cancelled = 24,
  // RUNNING, and it waits for a value.
  input_elsewhere = 25,  ///< an input is in the memory of other processes
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

/// Returns the reason for an ended closure. REQUIRES: ended(s).
constexpr closure_reason reason_of(closure_state s) {
  return s == closure_state::succeeded ? closure_reason::succeeded
         : s == closure_state::failed  ? closure_reason::failed
                                       : closure_reason::cancelled;
}

/// A requirement of a closure that no worker with its function meets.
struct unmet_need {
  enum class kind : std::uint8_t {
    by_name,   ///< the closure must name its task, because these workers hold state
    task,      ///< to be the task `name`
    label,     ///< the label `name`=`value`
    resource,  ///< `amount` of the resource `name`
    free,      ///< `amount` of the resource `name`, which exists there but is in use
    /// To have built the per-worker value `name`; `value`: why the build failed, if it did.
    per_worker,
  };
  kind what{};
  std::string name{};
  std::string value{};
  std::uint32_t amount = 0;
  std::uint64_t of = 0;  ///< number of workers that met the previous requirements

  bool operator==(unmet_need const&) const = default;
};

/// Why no worker can take a queued closure at present.
struct worker_lack {
  closure_reason why = closure_reason::no_worker;
  std::string function{};
  bool ever_had = true;                                ///< some worker has provided the function
  std::uint64_t connected = 0;                         ///< number of workers
  std::uint64_t draining = 0, cordoned = 0, away = 0;  ///< of the workers that could run it
  std::string cordoned_task{};                         ///< the first cordoned one: "worker:3"
  std::uint64_t starting = 0;                          ///< number of workers that start later…
  duration starts_in{};                                ///< …and time until the first of them does
  std::optional<unmet_need> need{};                    ///< if unsatisfiable

  bool operator==(worker_lack const&) const = default;
};

/// The state of a gang that has not started.
struct gang_wait {
  std::string name{};
  std::size_t size = 0;
  std::size_t ready = 0;  ///< members that wait only for the others and for a worker
  bool possible = true;   ///< the connected workers could hold it when idle

  bool operator==(gang_wait const&) const = default;
};

/// A function such as "python:3.11" that connected workers provide only in other versions.
struct version_wait {
  std::string family{};
  std::string wanted{};
  std::vector<std::string> present{};  ///< empty: no worker of the family is connected
  duration fails_in{};                 ///< unless a worker with the function attaches

  bool operator==(version_wait const&) const = default;
};

/// Where a large value is.
struct input_place {
  std::uint64_t bytes = 0;
  bool at_server = false;
  /// Tasks that hold it in memory; input_made_again: that held it.
  std::vector<std::string> holders{};
  closure_id made_by{};  ///< input_made_again: the closure that computes it again…
  duration made_for{};   ///< …and for how long it has done so

  bool operator==(input_place const&) const = default;
};

/// The wait of a running closure for a value; its slot is free while it waits.
struct value_wait {
  static constexpr std::size_t large_max = 16;
  /// Some of its inputs that refer to large values, by 64 hexadecimal digits. Their places are not
  /// known to the core.
  std::vector<std::pair<closure_id, std::string>> large{};

  bool operator==(value_wait const&) const = default;
};

struct explanation {
  closure_id closure{};
  closure_state state{};
  closure_reason why{};
  duration lasted{};  ///< waiting: since its creation; running or ended: its execution time
  std::string worker{};
  std::uint32_t attempt = 0;

  // Set while it waits for inputs.
  std::uint64_t inputs = 0, inputs_missing = 0;
  closure_id input{};                  ///< the first missing one
  closure_state input_state{};         ///< if input_not_ready
  std::optional<input_place> place{};  ///< of `input`, if known
  // Set while it waits for a time.
  duration starts_in{};
  std::uint32_t retries = 0, retries_max = 0;
  std::uint32_t losses = 0;  ///< pause: number of lost workers or processes; 0: another reason
  // Set while it waits for workers.
  std::optional<worker_lack> lack{};
  std::optional<gang_wait> gang{};
  duration prefetched_for{};
  std::uint32_t slots = 0;  ///< if prefetched: slots of the worker that holds it
  bool retracted = false;   ///< if prefetched: it was asked back
  std::string emptied{};    ///< if exclusive: the worker that finishes its other closures first…
  std::uint64_t emptied_holds = 0;  ///< …and their number
  std::string function{};           ///< if busy
  std::uint64_t function_workers = 0, function_queued = 0, function_running = 0;
  std::optional<version_wait> version{};
  // Set while it runs.
  std::optional<value_wait> waits{};
  bool stop_requested = false;
  std::optional<duration> away_for{};  ///< its worker's connection broke
  duration requeue_in{};               ///< unless that worker reconnects
  // Set when it has ended.
  std::optional<core::failure> error{};
  std::string released{};  ///< why its value was dropped; empty: it was not
  bool is_row = false;     ///< only a row of its session is left

  std::uint32_t workers_lost = 0;  ///< lost workers that it is blamed for, if it must run alone
  // The last attempt before the present one.
  std::uint32_t lost_attempt = 0;  ///< 0: there is none
  std::string lost_worker{};
  duration lost_ago{};
  attempt_outcome lost{};
};

}  // namespace muster::core
