// Late arrivals at barriers, for the run of a cluster and the record of an attempt. Pure functions.
#pragma once

#include <chrono>
#include <string>

#include "server/core/api/time.hpp"
#include "web/json/members.hpp"

namespace muster::web {

/// Returns fractions too: a delay of 0.1 ms at each step matters.
inline double milliseconds(core::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

/// Writes a barrier that all tasks reached.
template <class Barrier>
void late_barrier_members(member_list const& m, std::string const& id, Barrier const& b) {
  m("id", id);
  m("counter", b.counter);
  m("ended_ms", b.ended);
  m("participants", b.participants);
  m("last", b.last, "the task that arrived last");
  m("host", b.host);
  m("late_ms", milliseconds(b.late), "arrival of the last task, after half of the tasks");
  m("spread_ms", milliseconds(b.spread), "time from the first to the last arrival");
}

/// Writes a task that arrived late.
template <class Task>
void late_task_members(member_list const& m, std::string const& name, Task const& t) {
  m("task", name);
  m("host", t.host);
  m("last", t.last, "number of barriers at which the task was last");
  m("barriers", t.barriers, "number of barriers of the task");
  m("late_mean_ms", milliseconds(t.late_mean));
  m("late_max_ms", milliseconds(t.late_max));
}

}  // namespace muster::web
