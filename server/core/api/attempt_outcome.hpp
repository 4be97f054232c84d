// The result of one attempt to run a closure, as data. `texts/attempt_texts.hpp` converts it into
// text for display, which is never parsed.
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
  running = 0,           ///< not ended
  succeeded = 1,         ///< the closure ended with it
  failed = 2,            ///< the closure ended with it
  cancelled = 3,         ///< the closure ended with it
  worker_lost = 4,       ///< its worker died, or was away for too long
  connection_broke = 5,  ///< it was only prefetched when the connection to its worker broke
  not_there = 6,         ///< its worker reconnected without it
  stale_handle = 7,      ///< its worker does not know the function
  dependency_lost = 8,   ///< a dependency is temporarily lost
  timed_out = 9,         ///< the function reported a tolerated timeout
  user_error = 10,       ///< the function raised, and is retried
  value_lost = 11,       ///< it succeeded, its value was lost, and the closure ran again
  retracted = 12,  ///< it was only prefetched, and returned; neither counted as a loss nor recorded
  earlier = 13,    ///< stored by an older server, which wrote only the text
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

/// The cause of an attempt's end that counts as a loss of the closure.
enum class blame : std::uint8_t {
  none = 0,
  worker = 1,   ///< its worker was lost, or could not run it
  process = 2,  ///< its own process ended while its worker stayed connected
};
constexpr auto enum_names(blame) {
  using enum blame;
  return enumerators<blame>(none, "NONE", worker, "WORKER", process, "PROCESS");
}

struct attempt_outcome {
  attempt_end how = attempt_end::running;
  std::string detail{};  ///< reported by the transport, the function or the worker
  closure_id again{};    ///< value_lost: the closure that computed the value again

  bool operator==(attempt_outcome const&) const = default;
};

/// Returns how the last attempt of a closure in this state ended.
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
