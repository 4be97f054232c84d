// The tasks of one generation, and the connected tasks ordered by last sign of life. All tasks have
// the same timeout, so the first task in this order times out first. Used only on the engine
// thread.
//
// A task that never registered, or has left, can also fail when all tasks fail. A task in error can
// leave or reconnect.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/core/coordination/api/coordination_effects.hpp"
#include "server/core/coordination/api/declared_cluster.hpp"

namespace muster::core::coordination {

struct task : task_fact {
  // The incarnation under which the task waits for other tasks.
  std::optional<core::incarnation> registering;
  core::incarnation known_as{};
  time_point alive_at{};     // last heartbeat or other call
  time_point beat_at{};      // last heartbeat since the task connected; the epoch before the first
  duration beat_interval{};  // time between the last two heartbeats; zero if unknown
  // Neighbors in the list of tasks, which is ordered by last sign of life. `no_task` at the ends.
  task_index beats_before = no_task;
  task_index beats_after = no_task;
  time_point last_seen{};
  std::string peer;

  time_point last_message_at() const { return std::max(last_seen, alive_at); }
  /// Returns whether the task was restored after a restart and has been silent since. The heartbeat
  /// timeout of a restored task is counted from `alive_at`, if this is set.
  bool unheard() const { return ever_connected && last_seen == time_point{}; }
};

class task_registry {
 public:
  /// Tasks are recoverable if their cluster or role is recoverable.
  task_registry(cluster_spec const& spec, change_log log);

  task const& operator[](task_index t) const { return tasks_[t]; }
  task_index size() const { return static_cast<task_index>(tasks_.size()); }
  std::vector<task> const& all() const { return tasks_; }

  task_status status_of(task_index t) const {
    auto const& a = tasks_[t];
    return {t, a.state, a.incarnation, a.error};
  }
  std::vector<task_status> statuses(task_index first, task_index end) const;

  /// Increases with each change to a task's state, incarnation or error.
  std::int64_t version() const { return version_; }
  std::size_t connected() const { return connected_; }
  std::size_t in_error() const { return in_error_; }
  std::size_t ever_connected() const { return ever_connected_; }

  // REQUIRES (also for the functions below): t < size().
  void seen(task_index t, time_point now) { tasks_[t].last_seen = now; }
  void become_recoverable(task_index t) {
    if (!std::exchange(tasks_[t].recoverable, true)) log_.note(task_known{tasks_[t]});
  }
  void set_notice_wait(task_index t, bool on) { tasks_[t].hears_notices = on; }
  /// Sets the incarnation with which the task waits for other tasks; nullopt if the task does not
  /// wait.
  void await(task_index t, std::optional<core::incarnation> i) {
    if (std::exchange(tasks_[t].registering, i) != i) log_.note(task_waits{t, i});
  }
  /// Connects a task, which can be in any state.
  void connect(task_index t, core::incarnation i, time_point now);
  /// REQUIRES: the task is connected.
  void replace(task_index t, core::incarnation i, time_point now);
  /// Puts the task in error. Returns false and keeps the first error if the task is already in
  /// error.
  bool fail(task_index t, fault_ptr error, bool casualty, failed_why why);
  bool disconnect(task_index t, time_point grace_until, left_why why);

  /// REQUIRES (also for keep_alive): the task is connected.
  void beat(task_index t, time_point now);
  void keep_alive(task_index t, time_point now);
  /// Adds `lost` to the timeouts of all tasks, but lets no task count as silent for longer than
  /// `longest`.
  void forgive(duration lost, duration longest, time_point now);
  /// Returns the connected tasks without a sign of life after `since`, longest silent first.
  std::vector<task_index> silent(time_point since) const;
  time_point oldest_sign_of_life() const {
    return longest_silent_ == no_task ? never : tasks_[longest_silent_].alive_at;
  }

  void identify(task_index t, core::incarnation i, std::string const& peer);
  /// Returns the task with this incarnation, or else the task with this address, or else `no_task`.
  task_index find(core::incarnation i, std::string const& peer) const;
  bool knows(core::incarnation i) const;
  std::vector<core::incarnation> incarnations() const;
  std::vector<std::string> peers() const;

  task_fact fact_of(task_index t) const { return tasks_[t]; }
  bool has_no_record(task_index t) const {
    auto const& a = tasks_[t];
    return !a.ever_connected && a.state == agent_state::disconnected &&
           a.grace_until == time_point{};
  }
  /// Restores a task and starts its timeout. REQUIRES: no other event changed the task.
  void restore(task_fact const& f, time_point now);
  void write_state(change_log const& log) const;

  std::string violated_invariant() const;

 private:
  void start_beating(task_index t, time_point now);
  void stop_beating(task_index t);

  std::vector<task> tasks_;
  std::int64_t version_ = 0;
  std::size_t connected_ = 0;
  std::size_t in_error_ = 0;
  std::size_t ever_connected_ = 0;
  // Ends of the list of connected tasks, oldest sign of life first.
  task_index longest_silent_ = no_task;
  task_index last_to_beat_ = no_task;
  std::unordered_map<core::incarnation, task_index> by_incarnation_;
  std::unordered_map<std::string, task_index> by_peer_;
  change_log const log_;
};

}  // namespace muster::core::coordination
