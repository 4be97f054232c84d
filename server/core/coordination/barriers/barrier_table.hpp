// The barriers of one generation, the calls that wait at them, and their deadlines. Running
// barriers are ordered by start, finished barriers by end. Used only on the engine thread. The
// owner refuses calls that would exceed barriers_max running barriers. Above finished_barriers_max,
// the oldest finished barrier is removed.
//
// States of a barrier id:
//
//   (unknown) --open--> running --end--> finished --open: the next instance--> running
//        ^                                   |
//        \-------------- forgotten ----------/
//
// A use that visitors started has no deadline until an agent arrives, and is discarded when all
// visitors have left.
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

struct arrival {
  std::string_view id;
  std::int64_t counter = 0;
  duration timeout{};
  task_index task = no_task;
  /// Whether the task may have restarted and counts from 0; if so, it joins the current instance.
  bool begins_again = false;
  bool visits = false;
  std::shared_ptr<participants const> who = nullptr;  // null means the whole cluster
  bool with_unknown = false;  // whether the call names a participant that is not in the cluster
  barrier_purpose purpose = barrier_purpose::user;
};

enum class arrival_fit : std::uint8_t {
  fits,
  miscounted,
  unknown_participant,
  other_participants,
  no_participant,
};

struct barrier_verdict {
  barrier_outcome how = barrier_outcome::passed;
  fault_ptr fault = nullptr;
  task_index by = no_task;
};

struct barrier_end {
  barrier_instance instance;
  barrier_purpose purpose = barrier_purpose::user;
  fault_ptr result;  // null if the barrier passed
  std::shared_ptr<participants const> who;
  struct waiter {
    call_id call{};
    task_index task = no_task;
  };
  std::vector<waiter> waiters;  // sorted by position; these calls are no longer parked
};

class barrier_table {
 public:
  barrier_table(task_index tasks, duration stuck_after, limits const& l, change_log log);

  /// References are valid until the barrier is removed.
  barrier const* find(std::string_view id) const;
  barrier const* find(barrier_number n) const { return all_.find(n); }
  /// REQUIRES (also for the functions below): the barrier exists.
  barrier const& at(barrier_number n) const { return all_.at(n); }
  std::list<barrier_number> const& running() const { return running_; }
  std::list<barrier_number> const& finished() const { return finished_; }  // oldest first
  bool full() const { return running_.size() >= limits_.barriers_max; }
  std::shared_ptr<participants const> const& everybody() const { return everybody_; }

  struct instance {
    barrier_number number{};
    bool opened = false;
  };
  instance instance_for(arrival const& a, time_point now) {
    return instance_for(a, find(a.id), now);
  }
  /// Returns the instance for the call, and starts it if necessary. `known` is the result of find()
  /// for the id.
  instance instance_for(arrival const& a, barrier const* known, time_point now);
  arrival_fit fit(barrier_number n, arrival const& a) const;
  /// Parks the call. Returns whether all participants have arrived. REQUIRES: the instance is
  /// running, the arrival fits, and no call of the task is parked at the barrier.
  bool arrive(barrier_number n, arrival const& a, call_id call, time_point now);
  /// Removes the task's call. REQUIRES: the call is parked at the barrier.
  void step_out(barrier_number n, task_index t, barrier_move how, time_point now);
  /// Records that the removed call was answered before its deadline. The task still counts as
  /// arrived.
  void note_gave_up(barrier_number n, task_index t, time_point now);
  /// Discards the barrier's use if only visitors arrived and all of them have left.
  void undo_if_void(barrier_number n, time_point now);
  /// REQUIRES: the instance is running.
  barrier_end end(barrier_number n, barrier_verdict v, time_point now);

  time_point next_due() const { return due_.empty() ? never : due_.begin()->first.first; }
  /// REQUIRES: next_due() != never.
  barrier_number first_due() const { return due_.begin()->second; }
  /// Handles a reminder before the deadline. Returns whether to report the barrier as stuck.
  bool remind(barrier_number n, time_point now);
  void stop_clock(barrier_number n) { set_due(all_.at(n), never); }
  void keep_missing(barrier_number n, std::string text, time_point now);

  barrier_fact fact_of(std::string const& id) const;
  /// Restores a finished barrier. REQUIRES: the id is unknown; barriers are restored in the order
  /// in which they finished.
  void restore(barrier_fact const& f);
  void write_state(change_log const& log) const;

  std::string violated_invariant() const;

 private:
  barrier& start(arrival const& a, std::int64_t counter, time_point now);
  std::shared_ptr<participants const> kept(std::shared_ptr<participants const> who);
  static void append_begun(barrier const& b, change_log const& log);
  static void write_state(barrier const& b, change_log const& log);
  void schedule(barrier& b);
  void finish(barrier& b, time_point now, barrier_outcome how, task_index by = no_task);
  void set_due(barrier& b, time_point due);
  std::string broken(barrier const& b) const;

  limits const& limits_;
  duration const stuck_after_;
  std::shared_ptr<participants const> const everybody_;
  slot_table<barrier_number, barrier> all_;
  std::unordered_map<std::string_view, barrier_number> by_id_;  // the barriers own the keys
  std::list<barrier_number> running_;
  std::list<barrier_number> finished_;
  std::vector<std::shared_ptr<participants const>> sets_;
  // Ordered by time, then by id, so that effects do not depend on barrier numbers.
  std::map<std::pair<time_point, std::string_view>, barrier_number> due_;
  change_log const log_;
  // True if barriers were removed; counters of unknown ids then cannot be checked.
  bool has_forgotten_ = false;
};

}  // namespace muster::core::coordination
