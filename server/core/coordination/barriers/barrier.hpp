// One barrier: an id, and the instance of it that runs or ran last. Plain data that barrier_table
// keeps.
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
  bool told_stuck = false;
  bool missing_stale = true;  // `missing` no longer says who has not come
  fault_ptr result;           // of an ended one; null: passed
  fault_ptr result_before;    // of the use before this one
  task_index first = no_task;
  std::size_t arrived_count = 0;
  time_point started{};
  time_point waiting_since{};   // since then somebody has been waiting without a break
  time_point deadline = never;  // while only visitors have come
  time_point ended{};
  time_point due = never;  // its place among the deadlines
  std::shared_ptr<participants const> who;
  // By position in `who`, while running: the parked call, 0 when it has not come.
  std::vector<call_id> calls;
  // By position, of those that have come.
  std::vector<time_point> came;
  // By position: came, and was answered shortly before its own deadline. Not missing, therefore.
  std::vector<bool> gave_up;
  std::size_t gave_up_count = 0;
  std::string missing;  // in words; kept, since a thousand callers may ask for it at one time
  time_point missing_at{};
  std::list<barrier_number>::iterator place;  // among the running or the finished ones

  /// Position of the task; who->size() when it takes no part.
  std::size_t position(task_index t) const {
    if (whole_cluster) return std::min<std::size_t>(t, who->size());
    auto const it = std::lower_bound(who->begin(), who->end(), t);
    return it != who->end() && *it == t ? static_cast<std::size_t>(it - who->begin()) : who->size();
  }
  bool has(task_index t) const { return position(t) < who->size(); }
  /// The call that the task waits with; 0: none. REQUIRES: running, has(t).
  call_id call_of(task_index t) const { return calls[position(t)]; }
  /// Has neither come nor given up, by position. REQUIRES: running.
  bool is_missing(std::size_t at) const { return calls[at] == call_id{} && !gave_up[at]; }
  barrier_instance instance() const { return {id, counter}; }
};

}  // namespace muster::core::coordination
