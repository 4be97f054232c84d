// Views of closures that wait for workers that are not connected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/core/api/explanation.hpp"
#include "server/core/api/model.hpp"

namespace muster::core {

struct gang_view {
  session_id job{};
  gang_wait waits;
  closure_id first{};
  std::string function;  // function of the first closure
  time_point since{};    // when the first closure was scheduled
  // Set if the workers lack capacity for the gang. Describes the gang's first closure.
  std::optional<worker_shortage> lack{};
};

struct gangs_view {
  static constexpr std::size_t max = 100;
  std::vector<gang_view> items;  // oldest first
  std::uint64_t more = 0;
};

/// Queued closures whose requirements are not met by any worker that accepts closures.
struct demand_view {
  closure_options needs;               // contains only task, labels and resources
  std::vector<std::string> functions;  // at most functions_max
  std::uint64_t queued = 0;
  std::uint64_t workers = 0;  // matching workers that are draining or cordoned
  closure_id first{};         // oldest closure of the first session that was examined
  session_id job{};
  time_point since{};    // when `first` was scheduled
  worker_shortage lack;  // why no worker can run `first`

  static constexpr std::size_t functions_max = 10;
};

struct unmet_demand_view {
  static constexpr std::size_t max = 200;
  std::vector<demand_view> items;  // ordered by job
  bool complete = true;            // false if there was no time to examine all queued closures
};

/// Kinds of entries of the queue.
enum class queue_kind : std::uint8_t {
  closures = 0,  ///< queued closures with the same function, needs and priority
  gang = 1,
  program = 2,
};
constexpr auto enum_names(queue_kind) {
  using enum queue_kind;
  return enumerators<queue_kind>(closures, "closures", gang, "gang", program, "program");
}

/// Capacity of the workers that accept closures and meet the needs of an entry.
struct queue_room {
  std::uint64_t workers = 0, workers_free = 0;
  std::uint64_t slots = 0;
  std::uint64_t slots_free = 0;  // idle slots for which the needed resources are free, too
};

struct queue_job {
  session_id id{};
  std::string name;
};

/// Closures that wait for a worker, either as a gang or with the same demand.
struct queue_entry {
  static constexpr std::size_t functions_max = 5, jobs_max = 10;
  /// Maximum number of closures of an entry that are examined for `functions`.
  static constexpr std::size_t examined_max = 64;

  queue_kind kind = queue_kind::closures;
  std::string gang;
  std::int32_t priority = 0;
  closure_options needs;  // contains only task, labels and resources
  std::uint64_t waiting = 0;
  std::uint64_t ready = 0;  // members of a gang that wait only for the other members and for slots
  std::vector<std::pair<std::string, std::uint64_t>> functions;  // most frequent first
  std::uint64_t examined = 0;  // number of closures counted in `functions`
  std::vector<queue_job> jobs;
  std::uint64_t jobs_more = 0;
  closure_id first{};  // the closure that has waited longest
  session_id job{};    // the job of `first`
  time_point since{};  // when `first` was scheduled
  /// Place in the order of dispatch, starting at 1; 0 if no connected worker can run the entry.
  std::uint64_t position = 0;
  // Missing if there was no time to visit the workers:
  std::optional<queue_room> room{};
  std::optional<explanation> why{};       // why `first` waits
  std::optional<worker_shortage> lack{};  // for a gang that is too large, what `first` lacks
};

struct queue_view {
  static constexpr std::size_t gangs_max = 1'000;
  std::vector<queue_entry> items;            // entries with a position first, then the oldest first
  std::uint64_t entries = 0, startable = 0;  // `startable` counts entries with a position
  std::uint64_t closures = 0, closures_startable = 0;
  std::uint64_t blocked = 0;  // closures that wait for inputs
  std::uint64_t sent = 0;     // closures that wait on the worker to which they were sent
  std::uint64_t delayed = 0;  // closures that wait for a start time or a retry
  bool complete = true;       // false if there was no time to examine all queues and gangs
};

}  // namespace muster::core
