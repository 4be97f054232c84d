// A *placement class* is the set of workers that declare the same functions and currently satisfy
// the same requirements. A resource in use does not satisfy a requirement. A class has three rings:
// workers with an idle slot, workers that can prefetch, and sessions whose closures the class can
// run. Used only on the engine thread.
#pragma once

#include <vector>

#include "server/core/scheduling/session_queue.hpp"
#include "server/core/scheduling/worker_slots.hpp"

namespace muster::core {

struct worker_turn {
  ring_link<worker_slots>& operator()(worker_slots& w) const { return w.turn; }
};
struct session_turn {
  std::uint32_t index = 0;
  ring_link<session_queue>& operator()(session_queue& s) const {
    if (s.turns.size() <= index) s.turns.resize(index + 1);
    return s.turns[index];
  }
};

struct placement_class {
  explicit placement_class(std::uint32_t i) : index(i), sessions(session_turn{i}) {}

  std::uint32_t index;
  std::vector<function_id> functions;    // sorted
  std::vector<std::uint32_t> satisfied;  // requirement numbers, sorted
  bool by_name_only = false;             // workers accept only closures that select them explicitly
  std::vector<bool> has;
  std::vector<bool> meets;
  std::uint32_t workers = 0;
  ring<worker_slots, worker_turn> idle;
  ring<worker_slots, worker_turn> prefetching;
  ring<session_queue, session_turn> sessions;
  bool dirty = false;

  bool has_function(function_id f) const { return raw(f) < has.size() && has[raw(f)]; }
  bool can_run(closure_queue const& l) const {
    if (!has_function(l.function)) return false;
    return l.requirement == 0 ? !by_name_only
                              : l.requirement < meets.size() && meets[l.requirement];
  }
};

}  // namespace muster::core
