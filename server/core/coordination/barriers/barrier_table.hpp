// The barriers of one generation by id: how calls come to their instances and leave them, and when
// something is due. Running ones are kept in order of their start, finished ones in order of their
// end. What an end means to the tasks, and what callers are told, is for `service`, which owns it;
// knows no other part. Pure; engine thread only. Limits: barriers_max running (the call that would
// start one more is refused by the owner), finished_barriers_max remembered (the oldest is
// forgotten).
//
//   (unknown) --open--> running --end--> finished --open: the next instance--> running
//        ^                                   |
//        \-------------- forgotten ----------/
//
// A use begun by visitors has no deadline until an agent comes, and is undone when all have left.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/core/common/slot_table.hpp"
#include "server/core/coordination/api/coordination_facts.hpp"
#include "server/core/coordination/api/coordination_limits.hpp"
#include "server/core/coordination/barriers/barrier.hpp"

namespace muster::core::coordination {

/// One call that enters a barrier, whatever its purpose.
struct arrival {
  std::string_view id;
  std::int64_t counter = 0;
  duration timeout{};
  task_index task = no_task;
  /// A task that may have restarted and counts from 0 again: it joins whatever instance there is.
  bool begins_again = false;
  bool visits = false;                                // see enter_barrier
  std::shared_ptr<participants const> who = nullptr;  // null: the whole cluster
  bool with_unknown = false;  // it names a participant that the cluster does not have
  barrier_purpose purpose = barrier_purpose::user;
};

/// How an arrival goes together with its instance.
enum class arrival_fit : std::uint8_t {
  fits,
  miscounted,           ///< it counts uses of the barrier otherwise
  unknown_participant,  ///< it names one that the cluster does not have
  other_participants,   ///< than the instance was opened with
  no_participant,       ///< it takes no part itself
};

/// What an instance ends with.
struct barrier_verdict {
  barrier_outcome how = barrier_outcome::passed;
  fault_ptr fault = nullptr;  ///< null: passed
  task_index by = no_task;    ///< who failed, left or called wrongly
};

/// What came of an instance, for those who carry it on.
struct barrier_end {
  barrier_instance instance;
  barrier_purpose purpose = barrier_purpose::user;
  fault_ptr result;  // null: passed
  std::shared_ptr<participants const> who;
  struct waiter {
    call_id call{};
    task_index task = no_task;
  };
  std::vector<waiter> waiters;  // by position; they wait no longer
};

class barrier_table {
 public:
  /// Tasks 0 to `tasks` - 1 are the whole cluster. `stuck_after`: see cluster_spec. REQUIRES:
  /// limits outlive it.
  barrier_table(task_index tasks, duration stuck_after, limits const& l, change_log log);

  /// Null: unknown or forgotten. Valid until it is forgotten, like all references here.
  barrier const* find(std::string_view id) const;
  barrier const* find(barrier_number n) const { return all_.find(n); }
  /// REQUIRES (here and below): it is there.
  barrier const& at(barrier_number n) const { return all_.at(n); }
  std::list<barrier_number> const& running() const { return running_; }
  std::list<barrier_number> const& finished() const { return finished_; }  // oldest first
  bool full() const { return running_.size() >= limits_.barriers_max; }
  std::shared_ptr<participants const> const& everybody() const { return everybody_; }

  /// The instance that the call belongs to, started now when the call opens one.
  struct instance {
    barrier_number number{};
    bool opened = false;
  };
  instance instance_for(arrival const& a, time_point now) {
    return instance_for(a, find(a.id), now);
  }
  /// `known`: what was found under its id.
  instance instance_for(arrival const& a, barrier const* known, time_point now);
  arrival_fit fit(barrier_number n, arrival const& a) const;
  /// The call waits there. True: everybody has come. REQUIRES: running, fits, nobody waits in the
  /// task's place.
  bool arrive(barrier_number n, arrival const& a, call_id call, time_point now);
  /// The task's call is no longer waited for here; the barrier goes on. REQUIRES: it waits.
  void step_out(barrier_number n, task_index t, barrier_move how, time_point now);
  /// One that stepped out was answered shortly before its deadline; it came, so those who are
  /// missing are still the same.
  void note_gave_up(barrier_number n, task_index t, time_point now);
  /// If only visitors came, and have gone, it is as if the use had not begun.
  void undo_if_void(barrier_number n, time_point now);
  /// REQUIRES: running.
  barrier_end end(barrier_number n, barrier_verdict v, time_point now);

  time_point next_due() const { return due_.empty() ? never : due_.begin()->first.first; }
  /// REQUIRES: next_due() != never.
  barrier_number first_due() const { return due_.begin()->second; }
  /// Something was due before the deadline. True: people are to hear that it is stuck.
  bool remind(barrier_number n, time_point now);
  /// Nothing is due until somebody comes.
  void stop_clock(barrier_number n) { set_due(all_.at(n), never); }
  void keep_missing(barrier_number n, std::string text, time_point now);

  /// What is remembered of the id: of its last instance that ended.
  barrier_fact fact_of(std::string const& id) const;
  /// As it was. REQUIRES: the id is unknown; those that ended earlier came before.
  void restore(barrier_fact const& f);
  /// All of them, as changes.
  void say_whole(change_log const& log) const;

  /// Empty when everything is as it must be, else what is not, in words.
  std::string violated_invariant() const;

 private:
  barrier& start(arrival const& a, std::int64_t counter, time_point now);
  std::shared_ptr<participants const> kept(std::shared_ptr<participants const> who);
  static void say_begun(barrier const& b, change_log const& log);
  static void say_whole(barrier const& b, change_log const& log);
  void schedule(barrier& b);
  void finish(barrier& b, time_point now, barrier_outcome how, task_index by = no_task);
  void set_due(barrier& b, time_point due);
  std::string broken(barrier const& b) const;

  limits const& limits_;
  duration const stuck_after_;
  std::shared_ptr<participants const> const everybody_;
  slot_table<barrier_number, barrier> all_;
  std::unordered_map<std::string_view, barrier_number> by_id_;  // views of the barriers' own ids
  std::list<barrier_number> running_;
  std::list<barrier_number> finished_;
  std::vector<std::shared_ptr<participants const>> sets_;  // of participants, used last
  // By time, then by id, so that effects do not depend on numbers.
  std::map<std::pair<time_point, std::string_view>, barrier_number> due_;
  change_log const log_;
  bool forgetful_ = false;  // some were forgotten: counters of unknown ids cannot be checked
};

}  // namespace muster::core::coordination
