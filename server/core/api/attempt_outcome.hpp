// The result of one attempt to run a closure. `texts/attempt_texts.hpp` converts it into text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/enum_names.hpp"
#include "server/core/api/ids.hpp"
#include "server/core/api/vocabulary.hpp"

namespace muster::core {

using muster::name;

enum class attempt_end : std::uint8_t {
  running = 0,
  succeeded = 1,
  failed = 2,
  cancelled = 3,
  worker_lost = 4,       ///< the worker died or was disconnected for too long
  connection_broke = 5,  ///< the connection broke while the closure was only prefetched
  not_there = 6,         ///< the worker reconnected without the closure
  stale_handle = 7,
  dependency_lost = 8,
  timed_out = 9,    ///< the function reported a tolerated timeout
  user_error = 10,  ///< the function raised an error, and the closure is retried
  value_lost = 11,  ///< the attempt succeeded, but its value was lost and the closure ran again
  retracted = 12,   ///< the worker returned the unstarted closure; this is not counted or recorded
  earlier = 13,     ///< an outcome that an older server stored as text
};
constexpr auto enum_names(attempt_end) {
  using enum attempt_end;
  return enumerators<attempt_end>(running, "RUNNING", succeeded, "SUCCEEDED", failed, "FAILED",
                                  cancelled, "CANCELLED", worker_lost, "WORKER_LOST",
                                  connection_broke, "CONNECTION_BROKE", not_there, "NOT_THERE",
                                  stale_handle, "STALE_HANDLE", dependency_lost, "DEPENDENCY_LOST",
                                  timed_out, "TIMED_OUT", user_error, "USER_ERROR", value_lost,
                                  "VALUE_LOST", retracted, "RECALLED", earlier, "EARLIER");
}

/// Cause of the loss of a closure.
enum class blame : std::uint8_t {
  none = 0,
  worker = 1,
  process = 2,  ///< the closure's process ended while its worker stayed connected
};
constexpr auto enum_names(blame) {
  using enum blame;
  return enumerators<blame>(none, "NONE", worker, "WORKER", process, "PROCESS");
}

struct attempt_outcome {
  attempt_end how = attempt_end::running;
  std::string detail{};
  closure_id again{};  ///< for value_lost, the closure that recomputed the value

  bool operator==(attempt_outcome const&) const = default;
};

constexpr attempt_end end_of(closure_state s) {
  switch (s) {
    case closure_state::succeeded:
      return attempt_end::succeeded;
    case closure_state::failed:
      return attempt_end::failed;
    case closure_state::cancelled:
      return attempt_end::cancelled;
    default:
      return attempt_end::running;
  }
}

}  // namespace muster::core
