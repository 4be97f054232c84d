// Who runs what: matches queued closures with workers that have the function and room.
//
// Workers that declare the same functions and satisfy the same requirements (just now: a resource
// that is in use is not there) form a *placement class*. A class keeps a ring of
// workers with an idle slot, a ring of workers that may be sent closures ahead, and a ring of
// sessions that have something for it. A turn takes one session and one worker, hands over one
// closure (idle slot) or up to `run_max` (ahead), and moves both to the back of their ring (a
// session of weight n after n turns): sessions share fairly, workers fill evenly, and the cost of a
// closure does not depend on how many there are.
//
// Owned by the coordinator's state.
#pragma once

#include <algorithm>
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
  std::vector<function_id> functions;    // sorted
  std::vector<std::uint32_t> satisfied;  // requirements, sorted
  std::vector<bool> has;                 // by function number
  std::vector<bool> meets;               // by requirement number
  std::uint32_t workers = 0;
  ring<worker, worker_turn> idle;
  ring<worker, worker_turn> ahead;
  ring<session, session_turn> sessions;
  bool dirty = false;

  bool has_function(function_id f) const { return raw(f) < has.size() && has[raw(f)]; }
  bool can_run(lane const& l) const {
    return has_function(l.function) &&
           (l.requirement == 0 || (l.requirement < meets.size() && meets[l.requirement]));
  }
};

class placement {
 public:
  static constexpr std::uint32_t run_max = 64;

  placement(closure_table& closures, function_table& functions)
      : closures_(closures), functions_(functions) {}

  /// `all`: every session, so that a new class learns who waits for it.
  template <class Sessions>
  void add(worker& w, std::vector<function_id> functions, Sessions&& all) {
    std::sort(functions.begin(), functions.end());
    functions.erase(std::unique(functions.begin(), functions.end()), functions.end());
    enter(w, {std::move(functions), w.satisfied}, all);
  }
  /// `w.satisfied` has changed.
  template <class Sessions>
  void move(worker& w, Sessions&& all) {
    auto functions = w.placed->functions;
    remove(w);
    enter(w, {std::move(functions), w.satisfied}, all);
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

  /// Workers with an idle slot; `f` must not change them.
  template <class F>
  void for_each_idle(F f) const {
    for (auto const& [key, c] : classes_) c->idle.for_each(f);
  }

  std::string violated_invariant() const;

 private:
  using class_key = std::pair<std::vector<function_id>, std::vector<std::uint32_t>>;

  template <class Sessions>
  void enter(worker& w, class_key key, Sessions&& all) {
    bool created = false;
    auto& c = class_for(std::move(key), created);
    if (created)
      for (session& s : all) announce(s, c);
    w.placed = &c;
    ++c.workers;
    update(w);
  }
  placement_class& class_for(class_key key, bool& created);
  void announce(session& s, placement_class& c);
  void announce(session& s, lane const& l);
  void mark(placement_class& c);
  /// Up to `max` closures of `s` that `c` can run, highest priority first, then lowest order; fewer
  /// where another lane of the session comes first, one where it takes resources.
  void take(session& s, placement_class const& c, std::uint32_t max, std::vector<slot>& run);

  closure_table& closures_;
  function_table& functions_;
  std::map<class_key, std::unique_ptr<placement_class>> classes_;
  std::vector<std::uint32_t> free_indexes_;
  std::uint32_t next_index_ = 0;
  std::vector<placement_class*> dirty_;  // may have both a worker with room and work
};

}  // namespace muster::core
