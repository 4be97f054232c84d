// Phases of a closure, more detailed than the states that clients see, and the place of its value.
#pragma once

#include <cstdint>

#include "server/core/api/vocabulary.hpp"

namespace muster::core {

/// The phase of an unfinished or ended closure. All phases between `blocked` and `running` are
/// counted and shown as QUEUED.
enum class closure_phase : std::uint8_t {
  blocked,     ///< waits for an input
  delayed,     ///< waits for its start time
  gathering,   ///< waits for its gang, or for a worker of its own
  queued,      ///< waits for a worker
  prefetched,  ///< a worker holds it, but no slot executes it
  running,
  succeeded,
  failed,
  cancelled,
};

constexpr bool ended(closure_phase p) {
  return p >= closure_phase::succeeded;
}
constexpr closure_state state_of(closure_phase p) {
  switch (p) {
    case closure_phase::blocked:
      return closure_state::blocked;
    case closure_phase::running:
      return closure_state::running;
    case closure_phase::succeeded:
      return closure_state::succeeded;
    case closure_phase::failed:
      return closure_state::failed;
    case closure_phase::cancelled:
      return closure_state::cancelled;
    default:
      return closure_state::queued;
  }
}
/// REQUIRES: `s` is the state of an ended closure.
constexpr closure_phase phase_of(closure_state s) {
  return s == closure_state::succeeded ? closure_phase::succeeded
         : s == closure_state::failed  ? closure_phase::failed
                                       : closure_phase::cancelled;
}

/// Where the value of an ended closure is.
enum class value_place : std::uint8_t { memory, writing, disk, gone };

}  // namespace muster::core
