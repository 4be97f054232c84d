// A barrier: an id and its running or last instance. Used only on the engine thread.
#pragma once

#include <algorithm>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "server/core/api/time.hpp"
#include "server/core/coordination/api/coordination_changes.hpp"

namespace muster::core::coordination {

struct barrier {
  barrier_number number{};
  std::string id;
  std::int64_t counter = 0;
  barrier_purpose purpose = barrier_purpose::user;
  bool whole_cluster = false;
  bool running = false;
  bool reported_stuck = false;
  bool missing_stale = true;
  fault_ptr result;  // result of a finished instance; null if the barrier passed
  fault_ptr result_before;
  task_index first = no_task;
  std::size_t arrived_count = 0;
  time_point started{};
  time_point waiting_since{};   // start of the current uninterrupted wait
  time_point deadline = never;  // `never` while only visitors have arrived
  time_point ended{};
  time_point due = never;
  std::shared_ptr<participants const> who;
  // Waiting calls of the running instance, in the order of `who`. 0 if the task has not arrived.
  std::vector<call_id> calls;
  std::vector<time_point> came;
  // In the order of `who`: whether the task arrived and was answered before its own deadline. Such
  // a task is not missing.
  std::vector<bool> gave_up;
  std::size_t gave_up_count = 0;
  std::string missing;  // cached for up to a thousand simultaneous callers
  time_point missing_at{};
  std::list<barrier_number>::iterator place;

  /// Returns who->size() if the task is not a participant.
  std::size_t position(task_index t) const {
    if (whole_cluster) return std::min<std::size_t>(t, who->size());
    auto const it = std::lower_bound(who->begin(), who->end(), t);
    return it != who->end() && *it == t ? static_cast<std::size_t>(it - who->begin()) : who->size();
  }
  bool has(task_index t) const { return position(t) < who->size(); }
  /// Returns 0 if the task has not arrived. REQUIRES: running, has(t).
  call_id call_of(task_index t) const { return calls[position(t)]; }
  /// REQUIRES: running.
  bool is_missing(std::size_t at) const { return calls[at] == call_id{} && !gave_up[at]; }
  barrier_instance instance() const { return {id, counter}; }
};

}  // namespace muster::core::coordination
