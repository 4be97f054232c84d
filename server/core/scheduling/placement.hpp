// Who runs what: matches queued closures with workers that have the function and room.
//
// Workers that declare the same functions and satisfy the same requirements (just now: a resource
// that is in use is not there) form a *placement class*. A class keeps a ring of
// workers with an idle slot, a ring of workers that may prefetch closures, and a ring of
// sessions that have something for it. A turn takes one session and one worker, hands over one
// closure (idle slot) or up to `run_max` (prefetched), and moves both to the back of their ring (a
// session of weight n after n turns): sessions share fairly, workers fill evenly, and the cost of a
// closure does not depend on how many there are.
//
// Owned by the scheduler.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
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
  std::vector<std::uint32_t> satisfied;  // requirements, sorted
  bool by_name_only = false;             // of workers that are
  std::vector<bool> has;                 // by function number
  std::vector<bool> meets;               // by requirement number
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

class placement {
 public:
  static constexpr std::uint32_t run_max = 64;

  explicit placement(closure_table& closures) : closures_(closures) {}

  /// `all`: every session, so that a new class learns who waits for it.
  template <class Sessions>
  void add(worker_slots& w, std::vector<function_id> functions, Sessions&& all) {
    std::sort(functions.begin(), functions.end());
    functions.erase(std::unique(functions.begin(), functions.end()), functions.end());
    enter(w, {std::move(functions), w.satisfied, w.by_name_only}, all);
  }
  /// `w.satisfied` has changed.
  template <class Sessions>
  void move(worker_slots& w, Sessions&& all) {
    auto functions = w.placed->functions;
    remove(w);
    enter(w, {std::move(functions), w.satisfied, w.by_name_only}, all);
  }
  void remove(worker_slots& w);
  /// After any change of what the worker holds, its window or its draining.
  void update(worker_slots& w) {
    if (auto const wanted = w.wanted(); wanted != w.ready) stand(w, wanted);
  }

  [[gnu::always_inline]] void push_back(session_queue& s, slot c) {
    auto& l = s.queues[closures_[c].queue];
    closures_.push_back(l.queue, c);
    if (l.queue.size == 1) announce(s, l);
  }
  void push_front(session_queue& s, slot c);
  void unqueue(session_queue& s, slot c);
  /// The session is going: takes it out of every ring.
  void forget(session_queue& s);

  /// One turn: a worker with room and closures for it (unqueued, oldest first, at least one), or
  /// null when nothing can be placed. The caller hands them over and calls `update`.
  worker_slots* next(std::vector<slot>& run);

  /// Workers with an idle slot; `f` must not change how they stand.
  std::size_t idle() const { return idle_; }
  template <class F>
  void for_each_idle(F f) const {
    for (auto const& [key, c] : classes_) c->idle.for_each(f);
  }

  /// One that holds nothing, stands in its ring and can run what is in the queue.
  worker_slots* empty_worker(closure_queue const& l) const;

  /// Kinds of workers that have the function.
  std::size_t classes_with(function_id f) const {
    return raw(f) < classes_of_.size() ? classes_of_[raw(f)].size() : 0;
  }

  std::string violated_invariant() const;

 private:
  using class_key = std::tuple<std::vector<function_id>, std::vector<std::uint32_t>, bool>;

  template <class Sessions>
  void enter(worker_slots& w, class_key key, Sessions&& all) {
    bool created = false;
    auto& c = class_for(std::move(key), created);
    if (created)
      for (session_queue& s : all) announce(s, c);
    w.placed = &c;
    ++c.workers;
    update(w);
  }
  placement_class& class_for(class_key key, bool& created);
  placement_class& make_class(class_key key, std::uint32_t index);
  void announce(session_queue& s, placement_class& c);
  void announce(session_queue& s, closure_queue const& l);
  /// Moves it into the ring of `wanted`.
  void stand(worker_slots& w, readiness wanted);
  void mark(placement_class& c);
  /// Up to `max` closures of `s` that `c` can run, highest priority first, then lowest order; fewer
  /// where another queue of the session comes first, one where it takes resources.
  void take(session_queue& s, placement_class const& c, std::uint32_t max, std::vector<slot>& run);

  closure_table& closures_;
  std::vector<std::vector<placement_class*>> classes_of_;  // by function: whose workers have it
  std::map<class_key, std::unique_ptr<placement_class>> classes_;
  std::vector<std::uint32_t> free_indexes_;
  std::uint32_t next_index_ = 0;
  std::size_t idle_ = 0;                 // in all rings of idle ones
  std::vector<placement_class*> dirty_;  // may have both a worker with room and work
};

}  // namespace muster::core
