// What waits for workers, and which worker gets it: the lanes of sessions, the seats of workers,
// what closures require of them, gangs, and closures that run alone. Placement brings both sides
// together; see there.
//
// It knows sessions and workers by their numbers alone and counts nothing: what a move means for
// counts, records and effects is for the caller. A closure is queued in its lane, deferred (it
// waits for a time, an input, its gang or a worker of its own), held by a seat (running or sent
// ahead), or unknown here.
//
// Owned by the coordinator; engine thread only. Limits: those of requirement_table and gang_table,
// lanes_max; sessions, closures and workers are bounded by who brings them.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>

#include "base/status.hpp"
#include "server/core/api/explanation.hpp"
#include "server/core/common/numbered.hpp"
#include "server/core/scheduling/gang_table.hpp"
#include "server/core/scheduling/lone_table.hpp"
#include "server/core/scheduling/placement.hpp"
#include "server/core/scheduling/requirement_table.hpp"

namespace muster::core {

class scheduler {
 public:
  explicit scheduler(closure_table& closures) : closures_(closures), placement_(closures) {}

  /// Sessions take turns in the order of `id` when a kind of workers is new.
  void open(session_number n, session_id id, std::uint32_t weight);
  /// REQUIRES: nothing of it is queued or deferred.
  void close(session_number n);
  /// It has ended: no more turns.
  void end_turns(session_number n) { placement_.forget(queues_[n]); }
  /// Forgets its lanes, which it does not need any more. REQUIRES: as close.
  void clear_lanes(session_number n);
  session_queue const& queue(session_number n) const { return queues_[n]; }
  /// In order of the sessions' ids.
  std::vector<std::reference_wrapper<session_queue>> all_queues();

  /// Whether the lanes and requirements that these would bring fit. `s`: null for a new session.
  status room_for(session_queue const* s, std::vector<closure_spec> const& closures) const;
  /// The closure's lane, made where it is new. REQUIRES: room_for.
  std::uint32_t lane_for(session_number n, closure_spec const& spec) {
    return spec.extras ? lane_with_needs(n, spec) : queues_[n].lane_for(spec.function);
  }
  lane const& lane_of(slot c) const {
    auto const& r = closures_[c];
    return queues_[r.owner].lanes[r.lane];
  }
  requirement const& required(std::uint32_t number) const { return requirements_[number]; }

  [[gnu::always_inline]] void push_back(slot c) {
    placement_.push_back(queues_[closures_[c].owner], c);
  }
  void push_front(slot c) { placement_.push_front(queues_[closures_[c].owner], c); }
  void unqueue(slot c) { placement_.unqueue(queues_[closures_[c].owner], c); }
  void defer(slot c);
  void end_deferral(slot c);

  /// Not placed yet.
  seat& add(seat s);
  /// From now on it can be given closures.
  void place(seat& w, std::vector<function_id> functions);
  void remove(seat& w) { placement_.remove(w); }
  /// REQUIRES: it holds nothing and was removed.
  void forget(seat& w);
  /// After any change of what the worker holds, its window, or whether it is open.
  void update(seat& w) {
    if (w.placed) placement_.update(w);
  }
  seat& of(worker_number n) const { return *by_number_[raw(n)]; }
  seat* find(stream_id s) const {
    auto const it = seats_.find(s);
    return it == seats_.end() ? nullptr : it->second.get();
  }
  /// In the order of the roster.
  std::unordered_map<stream_id, std::unique_ptr<seat>> const& seats() const { return seats_; }

  bool satisfies(seat const& w, requirement const& r) const;
  /// After any change of what the worker has: puts it where it belongs now.
  void reconsider(seat& w);
  void set_built(seat& w, per_worker_id v, bool built);

  bool has_free(seat const& w, slot c) const;
  /// For ranks of programs, which hold no slot. False: there is not that much free.
  bool lend(seat& w, resource_amounts const& amounts);
  /// REQUIRES: lent.
  void take_back(seat& w, resource_amounts const& amounts);
  /// Another number: workers have come or gone, or resources have become free.
  std::uint64_t room_version() const { return room_version_; }
  /// The worker holds the closure, the newest of its own (or the oldest): it runs where a slot is
  /// free, else it is sent ahead. Says which; the caller tells its book.
  [[nodiscard]] bool hold(seat& w, slot c) {
    w.idle_noted = false;
    bool const runs = w.running.size < w.slots && w.ahead.size == 0;
    closures_.push_back(runs ? w.running : w.ahead, c);
    return runs;
  }
  /// As its state says.
  void hold_first(seat& w, slot c) {
    closures_.push_front(list_of(w, c), c);
    if (closures_[c].alone) w.shut |= seat::by_lone;
  }
  /// A slot works on it. REQUIRES: sent ahead, as far as its state says.
  void start(seat& w, slot c, bool reported);
  /// None does: the newest of those that run and have not been reported. no_slot: there is none.
  slot stop_one_unreported(seat& w);
  /// It waits for a value, its slot is free. REQUIRES: it runs there, and one more may wait.
  void give_slot(seat& w, slot c);
  /// It goes on, or is about to leave its worker. REQUIRES: it waits.
  void take_slot(seat& w, slot c);
  void reserve(seat& w, slot c) {
    if (auto const& l = lane_of(c); l.single) take_for_lane(w, l);
  }
  /// The worker holds the closure no more: its resources are free again.
  [[gnu::always_inline]] void let_go(seat& w, slot c) {
    if (w.yielded > 0 && closures_[c].waits) take_slot(w, c);
    closures_.remove(list_of(w, c), c);
    w.shut &= static_cast<std::uint8_t>(~seat::by_lone);  // it held nothing else
    if (auto const& l = lane_of(c); l.single) give_back_for_lane(w, l);
  }

  bool any_idle() const { return placement_.idle() > 0; }
  /// Notes which workers have an idle slot; recall() is about those that got nothing since.
  void note_idle(time_point now);
  bool idle_noted() const { return noted_at_ != never; }
  /// What they could take from workers that were sent it ahead: all of it where nothing has started
  /// since they were noted, else the share of the slots that are idle. The window of a worker that
  /// is asked shrinks to what stays. Nothing is chosen twice.
  std::vector<slot> recall();

  /// One turn; see placement.
  seat* next(std::vector<slot>& run) { return placement_.next(run); }

  /// A worker came, or takes closures again, or does not any more.
  void fleet_changed() {
    gangs.fleet_changed();
    ++room_version_;
  }
  gang_table gangs;
  static status valid_gangs(std::vector<closure_spec> const& specs);
  /// Which worker would run which member, or nothing. `idle`: with what is free now; else with all
  /// that they have. Greedy: the emptiest worker first.
  std::vector<std::pair<slot, seat*>> plan(gang const& g, bool idle) const;
  /// These workers get nothing new until a gang has started; instead of those before.
  void keep_free(std::vector<stream_id> wanted);

  lone_table lone;
  /// Apart, until a worker does nothing else.
  void wait_alone(slot c, time_point now);
  /// It has one, or has ended, or need not run alone any more. REQUIRES: it waits alone.
  void end_lone_wait(slot c, time_point now);
  /// It need not, or has ended. REQUIRES: it does not wait alone.
  void not_alone(slot c);
  /// A worker that does nothing and can run it at once; null when there is none.
  seat* empty_worker_for(slot c);
  /// A worker that could run it gets nothing new until it does, instead of the one before; null
  /// when there is none.
  seat* keep_one_empty_for(slot c);
  /// What the worker will hold runs alone. REQUIRES: it holds nothing.
  void run_alone_on(seat& w) { w.shut |= seat::by_lone; }

  /// The first demand that no worker with the function meets, of those that meet the ones before
  /// it; nothing when one meets all.
  std::optional<unmet_need> unmet(function_id f, requirement const& r) const;
  /// Whether it could run what is in the lane, did it nothing else and were it open. What has to be
  /// built first does not count.
  bool would_do(seat const& w, lane const& l) const;

  /// Empty when all is in order between two steps. `handing_out`: nothing may wait beside an idle
  /// worker.
  std::string invalid(bool handing_out) const;

 private:
  std::uint32_t lane_with_needs(session_number n, closure_spec const& spec);
  void take_for_lane(seat& w, lane const& l);
  void give_back_for_lane(seat& w, lane const& l);
  void enlist(seat& w);
  void release_requirements(session_queue& q);
  std::string misplaced(seat const& w) const;
  std::string invalid_lone(bool handing_out) const;
  bool could_run(seat const& w, lane const& l) const;
  static bool enough(resource_amounts const& of, requirement const& r);
  void keep_none_empty();
  slot_list& list_of(seat& w, slot c) { return closures_[c].sent() ? w.ahead : w.running; }

  closure_table& closures_;
  core::placement placement_;
  requirement_table requirements_;
  numbered<session_number, session_queue> queues_;
  std::map<session_id, session_number> in_order_;
  std::unordered_map<stream_id, std::unique_ptr<seat>> seats_;
  std::vector<seat*> by_number_;
  std::vector<stream_id> reserved_;  // for the oldest gang
  time_point noted_at_ = never;      // when idle workers were
  std::uint64_t room_version_ = 1;
};

}  // namespace muster::core
