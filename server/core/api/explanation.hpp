// Why a closure waits, moved or failed, as data: what `coordinator::explain` answers. The sentence
// is made by words/explanation_words.hpp; clients get the reason's name beside it and need not read
// it.
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

/// Why a closure is where it is. Names are those of REST's `reason`.
enum class closure_reason : std::uint8_t {
  // BLOCKED
  input_not_ready = 0,   ///< an input has not ended
  input_read_back = 1,   ///< an input's value comes back from the disk
  input_made_again = 2,  ///< an input's value was lost, and its closure runs again; also RUNNING
  // QUEUED
  delay = 3,       ///< it was scheduled with a delay
  retry = 4,       ///< the function raised, and is tried again after a pause
  pause = 5,       ///< it was requeued, and goes on after a pause
  may_return = 6,  ///< it ran when the server was started again: its worker may come back with it
  prefetched = 7,  ///< a worker has it beside what its slots work on
  gang_not_ready = 8,    ///< others of its gang are not ready to start
  gang_too_large = 9,    ///< the connected workers could not hold its gang, even when idle
  gang_waits = 10,       ///< its gang waits for as many idle slots
  exclusive = 11,        ///< it waits for a worker that does nothing else
  server_stops = 12,     ///< the server is shutting down
  no_worker = 13,        ///< none is connected
  function_unseen = 14,  ///< no worker has had the function
  function_absent = 15,  ///< no connected worker has the function
  workers_closed = 16,   ///< those with the function drain, are cordoned, or lost their connection
  workers_start = 17,    ///< those with the function came lately, and start staggered
  unsatisfiable = 18,    ///< no connected worker has all that it asks for
  workers_held_back = 19,  ///< those that could run it drain or are cordoned
  busy = 20,               ///< workers could run it, and have other work
  // The others have one reason each.
  running = 21,
  succeeded = 22,
  failed = 23,
  cancelled = 24,
  // RUNNING, and it waits for a value.
  input_elsewhere = 25,  ///< an input is in the memory of others, and not of its worker
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

/// Of a closure that has ended. REQUIRES: ended(s).
constexpr closure_reason reason_of(closure_state s) {
  return s == closure_state::succeeded ? closure_reason::succeeded
         : s == closure_state::failed  ? closure_reason::failed
                                       : closure_reason::cancelled;
}

/// What a closure asks for that no worker with its function has.
struct unmet_need {
  enum class kind : std::uint8_t {
    by_name,     ///< to name the task: what these workers hold is state
    task,        ///< to be the task `name`
    label,       ///< `name`=`value`
    resource,    ///< `amount` of `name`
    free,        ///< the same, and it has it, but not free
    per_worker,  ///< to have built the per-worker value `name`; `value`: why it failed, if it did
  };
  kind what{};
  std::string name{};
  std::string value{};
  std::uint32_t amount = 0;
  std::uint64_t of = 0;  ///< so many workers met what was looked at before

  bool operator==(unmet_need const&) const = default;
};

/// Why no worker can have a queued closure just now.
struct worker_lack {
  closure_reason why = closure_reason::no_worker;
  std::string function{};
  bool ever_had = true;                                ///< some worker has had the function
  std::uint64_t connected = 0;                         ///< workers
  std::uint64_t draining = 0, cordoned = 0, away = 0;  ///< of those that could
  std::string cordoned_task{};                         ///< the first of them: "worker:3"
  std::uint64_t starting = 0;                          ///< workers that start later…
  duration starts_in{};                                ///< …the first of them
  std::optional<unmet_need> need{};                    ///< unsatisfiable

  bool operator==(worker_lack const&) const = default;
};

/// How far a gang is that has not started.
struct gang_wait {
  std::string name{};
  std::size_t size = 0;
  std::size_t ready = 0;  ///< members that wait for nothing but the others and a worker
  bool possible = true;   ///< the connected workers could hold it, were they idle

  bool operator==(gang_wait const&) const = default;
};

/// A function such as "python:3.11" whose family is there in other versions alone.
struct version_wait {
  std::string family{};
  std::string wanted{};
  std::vector<std::string> present{};  ///< empty: no worker of the family is connected
  duration fails_in{};                 ///< unless a worker with it comes

  bool operator==(version_wait const&) const = default;
};

/// Where a large value is.
struct input_place {
  std::uint64_t bytes = 0;
  bool at_server = false;
  std::vector<std::string> holders{};  ///< tasks that have it in memory; input_made_again: had
  closure_id made_by{};                ///< input_made_again: the closure that does it…
  duration made_for{};                 ///< …since so long

  bool operator==(input_place const&) const = default;
};

/// A closure that has begun waits for a value; its slot is free meanwhile.
struct value_wait {
  static constexpr std::size_t large_max = 16;
  /// Of its inputs some that are names of large values, by 64 hexadecimal digits. Where these are
  /// is known outside of the core.
  std::vector<std::pair<closure_id, std::string>> large{};

  bool operator==(value_wait const&) const = default;
};

struct explanation {
  closure_id closure{};
  closure_state state{};
  closure_reason why{};
  duration lasted{};  ///< waits: since it was created; runs or ran: so long
  std::string worker{};
  std::uint32_t attempt = 0;

  // Waiting for inputs.
  std::uint64_t inputs = 0, inputs_missing = 0;
  closure_id input{};                  ///< the first that is missing
  closure_state input_state{};         ///< input_not_ready
  std::optional<input_place> place{};  ///< of it, where that is known
  // Waiting for a time.
  duration starts_in{};
  std::uint32_t retries = 0, retries_max = 0;
  std::uint32_t losses = 0;  ///< pause: after so many lost workers or processes; 0: another reason
  // Waiting for workers.
  std::optional<worker_lack> lack{};
  std::optional<gang_wait> gang{};
  duration prefetched_for{};
  std::uint32_t slots = 0;          ///< prefetched: of the worker that has it
  bool retracted = false;           ///< prefetched: it was asked back
  std::string emptied{};            ///< exclusive: the worker that is being emptied for it…
  std::uint64_t emptied_holds = 0;  ///< …still has so many closures
  std::string function{};           ///< busy
  std::uint64_t function_workers = 0, function_queued = 0, function_running = 0;
  std::optional<version_wait> version{};
  // Running.
  std::optional<value_wait> waits{};
  bool stop_requested = false;
  std::optional<duration> away_for{};  ///< its worker's connection broke
  duration requeue_in{};               ///< unless that comes back
  // Ended.
  std::optional<core::failure> error{};
  std::string released{};  ///< why its value is gone; empty: it is not
  bool is_row = false;     ///< only a row of its session is left

  std::uint32_t workers_lost = 0;  ///< that it is blamed for, while it is to run alone
  // The last attempt that was not the last.
  std::uint32_t lost_attempt = 0;  ///< 0: there is none
  std::string lost_worker{};
  duration lost_ago{};
  attempt_outcome lost{};
};

}  // namespace muster::core
