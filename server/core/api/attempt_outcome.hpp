// How one attempt to run a closure ended, as data. `words/attempt_words.hpp` makes the text of it
// that people read; nothing reads that text again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/core/api/ids.hpp"
#include "server/core/api/vocabulary.hpp"

namespace muster::core {

enum class attempt_end : std::uint8_t {
  running,           ///< it has not ended
  succeeded,         ///< the closure ended with it
  failed,            ///< the same
  cancelled,         ///< the same
  worker_lost,       ///< its worker died, or stayed away for too long
  connection_broke,  ///< it was only prefetched when the connection to its worker broke
  not_there,         ///< its worker came back without it
  stale_handle,      ///< its worker does not know the function
  dependency_lost,   ///< something that it relies on is gone for a while
  timed_out,         ///< the function reported a time-out that is tolerated
  user_error,        ///< the function raised, and is tried again
  value_lost,        ///< it succeeded, its value was lost, and the closure ran again
  retracted,         ///< it was only prefetched, and given back: nobody's loss, and not remembered
  earlier,           ///< an earlier version of the server wrote the text alone
};

/// What an attempt of a closure may have ended, which then counts as a loss.
enum class blame : std::uint8_t {
  none,
  worker,   ///< its worker was lost, or could not run it
  process,  ///< its own process ended while its worker stayed connected
};

struct attempt_outcome {
  attempt_end how = attempt_end::running;
  std::string detail{};  ///< what was said of it: by the transport, the function, the worker
  closure_id again{};    ///< value_lost: the closure that made the value again

  bool operator==(attempt_outcome const&) const = default;
};

std::string_view name(attempt_end);  ///< "WORKER_LOST"

/// How the last attempt of a closure in this state ended.
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
