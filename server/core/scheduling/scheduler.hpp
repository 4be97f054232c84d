// What waits for workers, and which worker gets it: the queues of sessions, the slots of workers,
// what closures require of them, gangs, and closures that run alone. Placement classes bring both
// sides together, turn by turn; see scheduler_placement.cpp.
//
// It knows sessions and workers by their numbers alone and counts nothing: what a move means for
// counts, records and effects is for the caller. A closure is queued in its queue, deferred (it
// waits for a time, an input, its gang or a worker of its own), held by a worker (running or
// prefetched), or unknown here.
//
// Owned by the coordinator; engine thread only. Limits: those of requirement_table and gang_table,
// queues_max; sessions, closures and workers are bounded by who brings them.
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

  /// Sessions take turns in the order of `id` when a kind of workers is new.
  void open(session_number n, session_id id, std::uint32_t weight);
  /// REQUIRES: nothing of it is queued or deferred.
  void close(session_number n);
  /// It has ended: no more turns.
  void end_turns(session_number n);
  /// Forgets its queues, which it does not need any more. REQUIRES: as close.
  void clear_queues(session_number n);
  session_queue const& queue(session_number n) const { return queues_[n]; }
  /// In order of the sessions' ids.
  std::vector<std::reference_wrapper<session_queue>> all_queues();

  /// Whether the queues and requirements that these would bring fit. `s`: null for a new session.
  status room_for(session_queue const* s, std::vector<closure_spec> const& closures) const;
  /// The closure's queue, made where it is new. REQUIRES: room_for.
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

  /// Knows the worker from now on, which is given nothing before `place`.
  worker_slots& add(worker_slots s);
  /// From now on it can be given closures.
  void place(worker_slots& w, std::vector<function_id> functions);
  void remove(worker_slots& w);
  /// REQUIRES: it holds nothing and was removed.
  void forget(worker_slots& w);
  /// After any change of what the worker holds, its window, or whether it is open.
  void update(worker_slots& w) {
    if (!w.placed) return;
    if (auto const wanted = w.wanted(); wanted != w.ready) stand(w, wanted);
  }
  worker_slots& of(worker_number n) const { return *by_number_[raw(n)]; }
  worker_slots* find(stream_id s) const {
    auto const it = workers_.find(s);
    return it == workers_.end() ? nullptr : it->second.get();
  }
  /// In the order of the registry.
  std::unordered_map<stream_id, std::unique_ptr<worker_slots>> const& all_workers() const {
    return workers_;
  }

  bool satisfies(worker_slots const& w, requirement const& r) const;
  /// After any change of what the worker has: puts it where it belongs now.
  void reconsider(worker_slots& w);
  void set_built(worker_slots& w, per_worker_id v, bool built);

  bool has_free(worker_slots const& w, slot c) const;
  /// For ranks of programs, which hold no slot. False: there is not that much free.
  bool lend(worker_slots& w, resource_amounts const& amounts);
  /// REQUIRES: lent.
  void take_back(worker_slots& w, resource_amounts const& amounts);
  /// Another number: workers have come or gone, or resources have become free.
  std::uint64_t room_version() const { return room_version_; }
  /// The worker holds the closure, the newest of its own (or the oldest): it runs where a slot is
  /// free, else it is prefetched. Says which; the caller tells its book.
  [[nodiscard]] bool hold(worker_slots& w, slot c) {
    w.idle_noted = false;
    bool const runs = w.running.size < w.slots && w.prefetched.size == 0;
    closures_.push_back(runs ? w.running : w.prefetched, c);
    return runs;
  }
  /// As its state says.
  void hold_first(worker_slots& w, slot c) {
    closures_.push_front(list_of(w, c), c);
    if (closures_[c].exclusive) w.shut |= worker_slots::by_exclusive;
  }
  /// A slot works on it. REQUIRES: prefetched, as far as its state says.
  void start(worker_slots& w, slot c, bool reported);
  /// Takes its slot from the newest of those that run and have not been reported, and gives it,
  /// which is prefetched again. no_slot: there is none.
  slot stop_one_unreported(worker_slots& w);
  /// It waits for a value, its slot is free. REQUIRES: it runs there, and one more may wait.
  void give_slot(worker_slots& w, slot c);
  /// It goes on, or is about to leave its worker. REQUIRES: it waits.
  void take_slot(worker_slots& w, slot c);
  void reserve(worker_slots& w, slot c) {
    if (auto const& l = queue_of(c); l.single) take_for_queue(w, l);
  }
  /// The worker holds the closure no more: its resources are free again.
  [[gnu::always_inline]] void let_go(worker_slots& w, slot c) {
    if (w.yielded > 0 && closures_[c].waits) take_slot(w, c);
    closures_.remove(list_of(w, c), c);
    w.shut &= static_cast<std::uint8_t>(~worker_slots::by_exclusive);  // it held nothing else
    if (auto const& l = queue_of(c); l.single) give_back_for_queue(w, l);
  }

  bool any_idle() const { return idle_workers_ > 0; }
  /// Notes which workers have an idle slot; retract() is about those that got nothing since.
  void note_idle(time_point now);
  bool idle_noted() const { return noted_at_ != never; }
  /// What they could take from workers that have it prefetched: all of it where nothing has started
  /// since they were noted, else the share of the slots that are idle. The window of a worker that
  /// is asked shrinks to what stays. Nothing is chosen twice. Closures of session `fixed` are never
  /// chosen: no other worker can run them.
  std::vector<slot> retract(session_number fixed);

  /// One turn: a worker with room and closures for it (unqueued, oldest first, at least one), or
  /// null when nothing can be placed. The caller hands them over and calls `update`.
  worker_slots* next(std::vector<slot>& run);

  /// A worker came, or takes closures again, or does not any more.
  void fleet_changed() {
    gangs.fleet_changed();
    ++room_version_;
  }
  gang_table gangs;
  static status valid_gangs(std::vector<closure_spec> const& specs);
  /// Which worker would run which member, or nothing. `idle`: with what is free now; else with all
  /// that they have. Greedy: the emptiest worker first.
  std::vector<std::pair<slot, worker_slots*>> plan(gang const& g, bool idle) const;
  /// These workers get nothing new until a gang has started; instead of those before.
  void keep_free(std::vector<stream_id> wanted);

  exclusive_table exclusives;
  /// Apart, until a worker does nothing else.
  void wait_exclusive(slot c, time_point now);
  /// The closure has a worker of its own, has ended, or may run with others. REQUIRES: it waits
  /// exclusively.
  void end_exclusive_wait(slot c, time_point now);
  /// The closure may run with others, or has ended. REQUIRES: it does not wait exclusively.
  void not_exclusive(slot c);
  /// A worker that does nothing and can run it at once; null when there is none.
  worker_slots* empty_worker_for(slot c);
  /// A worker that could run it gets nothing new until it does, instead of the one before; null
  /// when there is none.
  worker_slots* keep_one_empty_for(slot c);
  /// What the worker will hold runs alone. REQUIRES: it holds nothing.
  void run_exclusively_on(worker_slots& w) { w.shut |= worker_slots::by_exclusive; }

  /// The first demand that no worker with the function meets, of those that meet the ones before
  /// it; nothing when one meets all.
  std::optional<unmet_need> unmet(function_id f, requirement const& r) const;
  /// Whether it could run what is in the queue, did it nothing else and were it open. What has to
  /// be built first does not count.
  bool would_do(worker_slots const& w, closure_queue const& l) const;

  /// Empty when all is in order between two steps. `handing_out`: nothing may wait beside an idle
  /// worker.
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
  void keep_none_empty();
  slot_list& list_of(worker_slots& w, slot c) {
    return closures_[c].sent() ? w.prefetched : w.running;
  }

  // The worker stands with those of its class.
  void enter(worker_slots& w, class_key key);
  placement_class& make_class(class_key key);
  /// Into the ring of `wanted`.
  void stand(worker_slots& w, readiness wanted);
  void announce(session_queue& s, placement_class& c);
  void announce(session_queue& s, closure_queue const& l);
  void mark(placement_class& c);
  /// Up to `max` closures of `s` that `c` can run, highest priority first, then lowest order; fewer
  /// where another queue of the session comes first, one where it takes resources.
  void take(session_queue& s, placement_class const& c, std::uint32_t max, std::vector<slot>& run);
  /// Workers with an idle slot; `f` must not change how they stand.
  template <class F>
  void for_each_idle(F f) const {
    for (auto const& [key, c] : classes_) c->idle.for_each(f);
  }
  /// One that holds nothing, stands in its ring and can run what is in the queue.
  worker_slots* empty_worker(closure_queue const& l) const;

  closure_table& closures_;
  std::map<class_key, std::unique_ptr<placement_class>> classes_;
  std::vector<std::vector<placement_class*>> classes_of_;  // by function: whose workers have it
  std::vector<std::uint32_t> free_indexes_;                // of classes
  std::uint32_t next_index_ = 0;
  std::size_t idle_workers_ = 0;         // in all rings of idle ones
  std::vector<placement_class*> dirty_;  // may have both a worker with room and work
  requirement_table requirements_;
  numbered<session_number, session_queue> queues_;
  std::map<session_id, session_number> in_order_;
  std::unordered_map<stream_id, std::unique_ptr<worker_slots>> workers_;
  std::vector<worker_slots*> by_number_;
  std::vector<stream_id> reserved_;  // for the oldest gang
  time_point noted_at_ = never;      // when idle workers were
  std::uint64_t room_version_ = 1;
};

}  // namespace muster::core
