// Decides which worker runs which closure. Placement classes match sessions with workers by
// weighted round robin; see scheduler_placement.cpp. The caller updates counts and records and
// produces the effects. A closure is queued, deferred (waiting for a time, an input, its gang or an
// empty worker), held by a worker (running or prefetched), or unknown to the scheduler.
//
// Used only on the engine thread. The limits are requirement_table::max, gang_table::size_max and
// queues_max. The owners of sessions, closures and workers limit the number of these objects.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>

#include "base/status.hpp"
#include "server/core/api/explanation.hpp"
#include "server/core/common/numbered.hpp"
#include "server/core/scheduling/exclusive_table.hpp"
#include "server/core/scheduling/gang_table.hpp"
#include "server/core/scheduling/placement_class.hpp"
#include "server/core/scheduling/requirement_table.hpp"

namespace muster::core {

class scheduler {
 public:
  explicit scheduler(closure_table& closures) : closures_(closures) {}

  /// Adds a session. In a new placement class, sessions take turns in ascending order of `id`.
  void open(session_number n, session_id id, std::uint32_t weight);
  /// REQUIRES: no closure of the session is queued or deferred. clear_queues has the same
  /// precondition.
  void close(session_number n);
  void end_turns(session_number n);
  void clear_queues(session_number n);
  session_queue const& queue(session_number n) const { return queues_[n]; }
  std::vector<std::reference_wrapper<session_queue>> all_queues();

  /// Checks whether there is room for the queues and requirements of these closures.
  /// @param s null for a new session.
  status room_for(session_queue const* s, std::vector<closure_spec> const& closures) const;
  std::uint32_t queue_for(session_number n, closure_spec const& spec) {
    return spec.extras ? queue_with_needs(n, spec) : find_or_add(queues_[n], {spec.function, 0, 0});
  }
  closure_queue const& queue_of(slot c) const {
    auto const& r = closures_[c];
    return queues_[r.owner].queues[r.queue];
  }
  requirement const& required(std::uint32_t number) const { return requirements_[number]; }

  [[gnu::always_inline]] void push_back(slot c) {
    auto& s = queues_[closures_[c].owner];
    auto& l = s.queues[closures_[c].queue];
    closures_.push_back(l.queue, c);
    if (l.queue.size == 1) announce(s, l);
  }
  void push_front(slot c);
  void unqueue(slot c) {
    closures_.remove(queues_[closures_[c].owner].queues[closures_[c].queue].queue, c);
  }
  void defer(slot c);
  void end_deferral(slot c);

  /// The worker receives no closures before `place` is called.
  worker_slots& add(worker_slots s);
  void place(worker_slots& w, std::vector<function_id> functions);
  void remove(worker_slots& w);
  /// REQUIRES: the worker holds no closures and was removed.
  void forget(worker_slots& w);
  /// Must be called after any change to the worker's closures, window or open state.
  void update(worker_slots& w) {
    if (!w.placed) return;
    if (auto const wanted = w.wanted(); wanted != w.ready) move_to_ring(w, wanted);
  }
  worker_slots& of(worker_number n) const { return *by_number_[raw(n)]; }
  worker_slots* find(stream_id s) const {
    auto const it = workers_.find(s);
    return it == workers_.end() ? nullptr : it->second.get();
  }
  /// Iterates in the same order as worker_registry::all().
  std::unordered_map<stream_id, std::unique_ptr<worker_slots>> const& all_workers() const {
    return workers_;
  }

  bool satisfies(worker_slots const& w, requirement const& r) const;
  /// Must be called after any change to the worker's capabilities.
  void reconsider(worker_slots& w);
  void set_built(worker_slots& w, per_worker_id v, bool built);

  bool has_free(worker_slots const& w, slot c) const;
  /// Lends resources to program ranks, which hold no slot. Returns false if too few resources are
  /// free.
  bool lend(worker_slots& w, resource_amounts const& amounts);
  /// REQUIRES: lend() returned true for these amounts.
  void return_lent(worker_slots& w, resource_amounts const& amounts);
  /// Returns a version that changes when the fleet changes or resources become free.
  std::uint64_t capacity_version() const { return room_version_; }
  /// Adds a closure to the worker. The closure runs if a slot is free; otherwise it is prefetched.
  /// Returns whether the closure runs. The caller updates the closure_book.
  [[nodiscard]] bool hold(worker_slots& w, slot c) {
    w.idle_noted = false;
    bool const runs = w.running.size < w.slots && w.prefetched.size == 0;
    closures_.push_back(runs ? w.running : w.prefetched, c);
    return runs;
  }
  void hold_first(worker_slots& w, slot c) {
    closures_.push_front(list_of(w, c), c);
    if (closures_[c].exclusive) w.shut |= worker_slots::runs_exclusive;
  }
  /// REQUIRES: the closure's recorded state is still prefetched.
  void start(worker_slots& w, slot c, bool reported);
  /// Moves the newest unreported running closure back to the prefetched list. Returns that closure,
  /// or no_slot.
  slot stop_one_unreported(worker_slots& w);
  /// Frees the slot of a closure that waits for a value. REQUIRES: the closure runs on `w`, and
  /// may_yield() is true.
  void yield_slot(worker_slots& w, slot c);
  /// Allocates a slot again for a waiting closure that continues or leaves its worker.
  void reclaim_slot(worker_slots& w, slot c);
  void reserve(worker_slots& w, slot c) {
    if (auto const& l = queue_of(c); l.single) take_for_queue(w, l);
  }
  [[gnu::always_inline]] void let_go(worker_slots& w, slot c) {
    if (w.yielded > 0 && closures_[c].waits) reclaim_slot(w, c);
    closures_.remove(list_of(w, c), c);
    // An isolated closure was the worker's only closure.
    w.shut &= static_cast<std::uint8_t>(~worker_slots::runs_exclusive);
    if (auto const& l = queue_of(c); l.single) give_back_for_queue(w, l);
  }

  bool any_idle() const { return idle_workers_ > 0; }
  void note_idle(time_point now);
  bool idle_noted() const { return noted_at_ != never; }
  /// Returns, only once each, prefetched closures that could run on workers that note_idle() marked
  /// and that are still idle. A worker that has started no closure since note_idle() loses all its
  /// prefetched closures; other workers lose a share in proportion to the idle slots. Each worker's
  /// window shrinks accordingly.
  /// @param fixed session whose closures no other worker can run.
  std::vector<slot> retract(session_number fixed);

  /// Performs one turn. Returns a worker, and moves at least one closure for this worker from its
  /// queue to `run`, oldest first. Returns null if no closure can be placed. The caller dispatches
  /// the closures and calls `update`.
  worker_slots* next(std::vector<slot>& run);

  /// Must be called when a worker was added, or now accepts or refuses closures.
  void fleet_changed() {
    gangs.fleet_changed();
    ++room_version_;
  }
  gang_table gangs;
  static status valid_gangs(std::vector<closure_spec> const& specs);
  /// Returns a placement of a gang that starts with the emptiest worker. Returns an empty plan if
  /// the gang does not fit.
  std::vector<std::pair<slot, worker_slots*>> plan(gang const& g, bool idle) const;
  /// Keeps these workers free for a gang until it has started, and releases the previous workers.
  void keep_free(std::vector<stream_id> wanted);

  exclusive_table exclusives;
  void wait_exclusive(slot c, time_point now);
  /// REQUIRES: the closure waits for an empty worker.
  void end_exclusive_wait(slot c, time_point now);
  /// Ends the isolation of a closure. REQUIRES: the closure does not wait for an empty worker.
  void not_exclusive(slot c);
  worker_slots* empty_worker_for(slot c);
  /// Keeps a worker empty that could run the closure, and releases the previous worker.
  worker_slots* keep_one_empty_for(slot c);
  /// Reserves the worker for an isolated closure. REQUIRES: the worker holds no closures.
  void run_exclusively_on(worker_slots& w) { w.shut |= worker_slots::runs_exclusive; }

  /// Checks the requirements in order against all workers with the function. Returns the first
  /// requirement that leaves no worker, or nothing.
  std::optional<unmet_need> unmet(function_id f, requirement const& r) const;
  /// Returns whether the worker, if open and empty, could run closures of this queue. Ignores
  /// values that must still be built.
  bool could_run_if_idle(worker_slots const& w, closure_queue const& l) const;

  /// @param handing_out whether closures are dispatched. If so, no worker may be idle while
  ///   runnable closures wait.
  std::string invalid(bool handing_out) const;

 private:
  using class_key = std::tuple<std::vector<function_id>, std::vector<std::uint32_t>, bool>;

  std::uint32_t queue_with_needs(session_number n, closure_spec const& spec);
  static std::uint32_t find_or_add(session_queue& s, session_queue::queue_key const& key) {
    if (!s.queues.empty()) {
      auto const& newest = s.queues.back();
      if (session_queue::queue_key(newest.function, newest.priority, newest.requirement) == key)
        return static_cast<std::uint32_t>(s.queues.size() - 1);
    }
    auto const [it, fresh] =
        s.queue_of.try_emplace(key, static_cast<std::uint32_t>(s.queues.size()));
    auto const& [function, priority, requirement] = key;
    if (fresh) s.queues.push_back({function, priority, requirement, false, 0, {}});
    return it->second;
  }
  void take_for_queue(worker_slots& w, closure_queue const& l);
  void give_back_for_queue(worker_slots& w, closure_queue const& l);
  void enlist(worker_slots& w);
  void release_requirements(session_queue& q);
  std::string misplaced(worker_slots const& w) const;
  std::string invalid_exclusive(bool handing_out) const;
  bool could_run(worker_slots const& w, closure_queue const& l) const;
  std::string invalid_classes() const;
  static bool enough(resource_amounts const& of, requirement const& r);
  void release_reserved_worker();
  slot_list& list_of(worker_slots& w, slot c) {
    return closures_[c].sent() ? w.prefetched : w.running;
  }

  void enter(worker_slots& w, class_key key);
  placement_class& make_class(class_key key);
  void move_to_ring(worker_slots& w, readiness wanted);
  void announce(session_queue& s, placement_class& c);
  void announce(session_queue& s, closure_queue const& l);
  void mark(placement_class& c);
  /// Takes up to `max` closures of `s` that `c` can run: highest priority first, then lowest order.
  /// A closure that needs resources is taken alone.
  void take(session_queue& s, placement_class const& c, std::uint32_t max, std::vector<slot>& run);
  /// `f` must not move workers between rings.
  template <class F>
  void for_each_idle(F f) const {
    for (auto const& [key, c] : classes_) c->idle.for_each(f);
  }
  worker_slots* empty_worker(closure_queue const& l) const;

  closure_table& closures_;
  std::map<class_key, std::unique_ptr<placement_class>> classes_;
  std::vector<std::vector<placement_class*>> classes_of_;
  std::vector<std::uint32_t> free_indexes_;
  std::uint32_t next_index_ = 0;
  std::size_t idle_workers_ = 0;
  std::vector<placement_class*> dirty_;  // may have both runnable closures and a worker with room
  requirement_table requirements_;
  numbered<session_number, session_queue> queues_;
  std::map<session_id, session_number> in_order_;
  std::unordered_map<stream_id, std::unique_ptr<worker_slots>> workers_;
  std::vector<worker_slots*> by_number_;
  std::vector<stream_id> reserved_;
  time_point noted_at_ = never;
  std::uint64_t room_version_ = 1;
};

}  // namespace muster::core
