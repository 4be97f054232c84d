// JSON of late arrivals at barriers. Pure functions.
#pragma once

#include <chrono>
#include <string>

#include "server/core/api/time.hpp"
#include "web/json/members.hpp"

namespace muster::web {

/// Includes fractions, because a delay of 0.1 ms at every step matters.
inline double milliseconds(core::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

template <class Barrier>
void late_barrier_members(member_list const& m, std::string const& id, Barrier const& b) {
  m("id", id);
  m("counter", b.counter);
  m("ended_ms", b.ended);
  m("participants", b.participants);
  m("last", b.last, "the task that arrived last");
  m("host", b.host);
  m("late_ms", milliseconds(b.late), "time from the median arrival to the last arrival");
  m("spread_ms", milliseconds(b.spread), "time from the first to the last arrival");
}

template <class Task>
void late_task_members(member_list const& m, std::string const& name, Task const& t) {
  m("task", name);
  m("host", t.host);
  m("last", t.last, "number of barriers at which the task arrived last");
  m("barriers", t.barriers, "number of barriers in which the task participated");
  m("late_mean_ms", milliseconds(t.late_mean));
  m("late_max_ms", milliseconds(t.late_max));
}

}  // namespace muster::web
