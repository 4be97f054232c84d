// Who runs what: matches queued closures with workers that have the function and room.
//
// Workers that declare the same set of functions form a *placement class*. A class keeps a ring of
// workers with an idle slot, a ring of workers that may be sent closures ahead, and a ring of
// sessions that have something for it. A turn takes one session and one worker, hands over one
// closure (idle slot) or up to `run_max` (ahead), and moves both to the back of their ring (a
// session of weight n after n turns): sessions share fairly, workers fill evenly, and the cost of a
// closure does not depend on how many there are.
//
// Owned by the coordinator's state.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "server/core/function_table.hpp"
#include "server/core/session.hpp"
#include "server/core/worker.hpp"

namespace muster::core {

struct worker_turn {
  ring_link<worker>& operator()(worker& w) const { return w.turn; }
};
struct session_turn {
  std::uint32_t index = 0;
  ring_link<session>& operator()(session& s) const {
    if (s.turns.size() <= index) s.turns.resize(index + 1);
    return s.turns[index];
  }
};

struct placement_class {
  explicit placement_class(std::uint32_t i) : index(i), sessions(session_turn{i}) {}

  std::uint32_t index;
  std::vector<function_id> functions;  // sorted
  std::vector<bool> has;               // by function number
  std::uint32_t workers = 0;
  ring<worker, worker_turn> idle;
  ring<worker, worker_turn> ahead;
  ring<session, session_turn> sessions;
  bool dirty = false;

  bool can_run(function_id f) const { return raw(f) < has.size() && has[raw(f)]; }
};

class placement {
 public:
  static constexpr std::uint32_t run_max = 64;

  placement(closure_table& closures, function_table& functions)
      : closures_(closures), functions_(functions) {}

  /// `all`: every session, so that a new class learns who waits for it.
  template <class Sessions>
  void add(worker& w, std::vector<function_id> functions, Sessions&& all) {
    bool created = false;
    auto& c = class_for(std::move(functions), created);
    if (created)
      for (session& s : all) announce(s, c);
    w.placed = &c;
    ++c.workers;
    update(w);
  }
  void remove(worker& w);
  /// After any change of what the worker holds, its window or its draining.
  void update(worker& w);

  void push_back(session& s, slot c);
  void push_front(session& s, slot c);
  void unqueue(session& s, slot c);
  /// The session is going: takes it out of every ring.
  void forget(session& s);

  /// One turn: a worker with room and closures for it (unqueued, oldest first, at least one), or
  /// null when nothing can be placed. The caller hands them over and calls `update`.
  worker* next(std::vector<slot>& run);

  std::string violated_invariant() const;

 private:
  placement_class& class_for(std::vector<function_id> functions, bool& created);
  void announce(session& s, placement_class& c);
  void announce(session& s, function_id f);
  void mark(placement_class& c);
  /// Up to `max` closures of `s` that `c` can run, highest priority first, then lowest order; fewer
  /// where another lane of the session comes first.
  void take(session& s, placement_class const& c, std::uint32_t max, std::vector<slot>& run);

  closure_table& closures_;
  function_table& functions_;
  std::map<std::vector<function_id>, std::unique_ptr<placement_class>> classes_;
  std::vector<std::uint32_t> free_indexes_;
  std::uint32_t next_index_ = 0;
  std::vector<placement_class*> dirty_;  // may have both a worker with room and work
};

}  // namespace muster::core
