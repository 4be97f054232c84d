// Phases of a closure, finer than the states that clients see, and the place of its value.
#pragma once

#include <cstdint>

#include "server/core/api/vocabulary.hpp"

namespace muster::core {

/// Phases between `blocked` and `running` are counted and shown as QUEUED.
enum class closure_phase : std::uint8_t {
  blocked,
  delayed,
  gathering,  ///< waiting for its gang, or for a worker that runs nothing else
  queued,
  prefetched,  ///< sent to a worker, but not yet running in a slot
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
/// REQUIRES: ended(s).
constexpr closure_phase phase_of(closure_state s) {
  return s == closure_state::succeeded ? closure_phase::succeeded
         : s == closure_state::failed  ? closure_phase::failed
                                       : closure_phase::cancelled;
}

enum class value_place : std::uint8_t { memory, writing, disk, gone };

}  // namespace muster::core
