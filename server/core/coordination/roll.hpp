// The tasks of one generation, and those that beat in order of their last heartbeat: all have the
// same timeout, so the first in line is the first to be late. Owned by standalone_service.
#pragma once

#include <algorithm>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/core/api/blob.hpp"
#include "server/core/coordination/api/effects.hpp"

namespace muster::core::coordination {

struct agent {
  agent_state state = agent_state::disconnected;
  bool recoverable = false;  // its own word, or its job's or the cluster's
  bool casualty = false;     // its error followed from another's
  bool has_devices = false;
  bool ever_connected = false;
  bool told = false;  // it has heard of the error that everybody is told
  core::incarnation incarnation{};
  std::optional<core::incarnation> registering;  // waits for the others under this one
  core::incarnation known_as{};                  // its place in the roll's index
  fault_ptr error;
  call_id poll{};
  time_point registered_at{};
  time_point last_heartbeat{};
  time_point last_seen{};    // any call
  time_point grace_until{};  // heartbeats after leaving are no error until then
  std::string peer;          // by which the roll's index knows it too
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
  /// Everybody gets `lost` back, and nobody counts as silent for longer than `longest`.
  void forgive(duration lost, duration longest, time_point now) {
    for (auto const t : beating_) {
      auto& last = agents_[t].last_heartbeat;
      last = std::clamp(last + lost, now - longest, now);
    }
  }
  /// Under which names a task's calls are recognised from now on.
  void identify(task_index t, core::incarnation i, std::string const& peer) {
    auto& a = agents_[t];
    forget(by_incarnation_, a.known_as, t);
    forget(by_peer_, a.peer, t);
    a.known_as = i;
    a.peer = peer;
    if (i != core::incarnation{}) by_incarnation_[i] = t;
    if (!peer.empty()) by_peer_[peer] = t;
  }
  /// The task with this incarnation or, failing that, this address; `no_task`: none.
  task_index find(core::incarnation i, std::string const& peer) const {
    if (auto const it = by_incarnation_.find(i); it != by_incarnation_.end()) return it->second;
    auto const it = by_peer_.find(peer);
    return it == by_peer_.end() ? no_task : it->second;
  }
  /// Oldest heartbeat first.
  std::list<task_index> const& beating() const { return beating_; }

 private:
  template <class Key>
  static void forget(std::unordered_map<Key, task_index>& index, Key const& key, task_index t) {
    auto const it = index.find(key);
    if (it != index.end() && it->second == t) index.erase(it);
  }

  std::vector<agent> agents_;
  std::unordered_map<core::incarnation, task_index> by_incarnation_;
  std::unordered_map<std::string, task_index> by_peer_;
  std::list<task_index> beating_;
};

}  // namespace muster::core::coordination
