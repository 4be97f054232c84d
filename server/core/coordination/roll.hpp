// The tasks of one generation, and those that beat in order of their last heartbeat: all have the
// same timeout, so the first in line is the first to be late. Owned by standalone_service.
#pragma once

#include <algorithm>
#include <list>
#include <string>
#include <vector>

#include "server/core/blob.hpp"
#include "server/core/coordination/effects.hpp"

namespace muster::core::coordination {

struct agent {
  agent_state state = agent_state::disconnected;
  bool recoverable = false;  // its own word, or its job's or the cluster's
  bool casualty = false;     // its error followed from another's
  bool has_devices = false;
  bool ever_connected = false;
  core::incarnation incarnation{};
  core::incarnation registering{};  // waits for the others under this one; 0: does not
  fault_ptr error;
  call_id poll{};
  time_point registered_at{};
  time_point last_heartbeat{};
  time_point last_seen{};    // any call
  time_point grace_until{};  // heartbeats after leaving are no error until then
  std::string peer;
  std::vector<blob> devices;
  std::list<task_index>::iterator beat;  // valid while connected
};

class roll {
 public:
  explicit roll(task_index size) : agents_(size) {}

  agent& operator[](task_index t) { return agents_[t]; }
  agent const& operator[](task_index t) const { return agents_[t]; }
  task_index size() const { return static_cast<task_index>(agents_.size()); }
  std::vector<agent> const& all() const { return agents_; }

  void start_beating(task_index t, time_point now) {
    agents_[t].last_heartbeat = now;
    agents_[t].beat = beating_.insert(beating_.end(), t);
  }
  void stop_beating(task_index t) { beating_.erase(agents_[t].beat); }
  void beat(task_index t, time_point now) {
    agents_[t].last_heartbeat = now;
    beating_.splice(beating_.end(), beating_, agents_[t].beat);
  }
  /// Everybody gets `lost` back.
  void forgive(duration lost, time_point now) {
    for (auto const t : beating_)
      agents_[t].last_heartbeat = std::min(now, agents_[t].last_heartbeat + lost);
  }
  /// Oldest heartbeat first.
  std::list<task_index> const& beating() const { return beating_; }

 private:
  std::vector<agent> agents_;
  std::list<task_index> beating_;
};

}  // namespace muster::core::coordination
