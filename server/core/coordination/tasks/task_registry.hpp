// The tasks of one generation: the state of each, under which names its calls are recognised, and
// the connected ones in order of their last sign of life: all have the same timeout, so the first
// in line is the first to be late. Owned by `service`, which carries on what a move brings about;
// knows no other part. Pure; engine thread only.
//
//   disconnected ---connect---> connected ---fail---> error
//
// From every state into every other, besides: a task that never came, or left, may fail with all
// the others; one in error may leave, or be connected again.
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
  std::optional<core::incarnation> registering;  // waits for the others under this one
  core::incarnation known_as{};                  // its place in the registry's index
  time_point alive_at{};     // its last sign of life: a heartbeat or any other call
  time_point beat_at{};      // its last heartbeat since it connected; zero: none
  duration beat_interval{};  // between its last two heartbeats; zero: there were not two
  // Neighbours among those that beat; `no_task` at the ends.
  task_index beats_before = no_task;
  task_index beats_after = no_task;
  time_point last_seen{};  // any call
  std::string peer;        // by which the registry's index knows it too

  /// The last time that anything came from it; zero: never.
  time_point heard_of() const { return std::max(last_seen, alive_at); }
  /// Known from before a restart, and nothing has come from it since: `alive_at`, if any, is
  /// when its silence began to count.
  bool unheard() const { return ever_connected && last_seen == time_point{}; }
};

class task_registry {
 public:
  /// Tasks are recoverable as far as their cluster or job is.
  task_registry(cluster_spec const& spec, change_log log);

  task const& operator[](task_index t) const { return tasks_[t]; }
  task_index size() const { return static_cast<task_index>(tasks_.size()); }
  std::vector<task> const& all() const { return tasks_; }

  task_status status_of(task_index t) const {
    auto const& a = tasks_[t];
    return {t, a.state, a.incarnation, a.error};
  }
  std::vector<task_status> statuses(task_index first, task_index end) const;

  /// Rises with each change of a task's state, incarnation or error.
  std::int64_t version() const { return version_; }
  std::size_t connected() const { return connected_; }
  std::size_t in_error() const { return in_error_; }
  std::size_t ever_connected() const { return ever_connected_; }

  // REQUIRES (everywhere below): t < size().
  void seen(task_index t, time_point now) { tasks_[t].last_seen = now; }
  void become_recoverable(task_index t) {
    if (!std::exchange(tasks_[t].recoverable, true)) log_.note(task_known{tasks_[t]});
  }
  /// It waits for the notice of a preemption, or has; until it leaves or is another process. What
  /// notice_listeners says tells so.
  void note_hears(task_index t, bool on) { tasks_[t].hears_notices = on; }
  /// It waits for the others to register under this incarnation; none: it does not, or no longer.
  void await(task_index t, std::optional<core::incarnation> i) {
    if (std::exchange(tasks_[t].registering, i) != i) log_.note(task_waits{t, i});
  }
  /// From any state.
  void connect(task_index t, core::incarnation i, time_point now);
  /// Another process has taken the place of a connected task. REQUIRES: connected.
  void replace(task_index t, core::incarnation i, time_point now);
  /// Its first error is kept until it leaves or comes back. False: it had one already.
  bool fail(task_index t, fault_ptr error, bool casualty, failed_why why);
  /// False: it was not there.
  bool disconnect(task_index t, time_point grace_until, left_why why);

  /// A heartbeat has come. REQUIRES: connected.
  void beat(task_index t, time_point now);
  /// Its silence counts from now. REQUIRES: connected.
  void keep_alive(task_index t, time_point now);
  /// Everybody gets `lost` back, and nobody counts as silent for longer than `longest`.
  void forgive(duration lost, duration longest, time_point now);
  /// Connected tasks whose last sign of life is not after `since`, the longest silent first.
  std::vector<task_index> silent(time_point since) const;
  /// Of the connected task that has been silent for the longest time; `never` when there is none.
  time_point oldest_sign_of_life() const {
    return longest_silent_ == no_task ? never : tasks_[longest_silent_].alive_at;
  }

  /// Under which names a task's calls are recognised from now on.
  void identify(task_index t, core::incarnation i, std::string const& peer);
  /// The task with this incarnation or, failing that, this address; `no_task`: none.
  task_index find(core::incarnation i, std::string const& peer) const;
  /// Whether a task has, or registers under, this incarnation.
  bool knows(core::incarnation i) const;
  /// Of all that have registered or are about to.
  std::vector<core::incarnation> incarnations() const;
  std::vector<std::string> peers() const;

  task_fact fact_of(task_index t) const { return tasks_[t]; }
  /// Nothing was ever said of it.
  bool is_untold(task_index t) const {
    auto const& a = tasks_[t];
    return !a.ever_connected && a.state == agent_state::disconnected &&
           a.grace_until == time_point{};
  }
  /// As it was; its silence counts from now. REQUIRES: nothing is known of it yet.
  void restore(task_fact const& f, time_point now);
  /// All of it, as changes.
  void say_whole(change_log const& log) const;

  /// Empty when everything is as it must be, else what is not, in words.
  std::string violated_invariant() const;

 private:
  void start_beating(task_index t, time_point now);
  void stop_beating(task_index t);

  std::vector<task> tasks_;
  std::int64_t version_ = 0;
  std::size_t connected_ = 0;
  std::size_t in_error_ = 0;
  std::size_t ever_connected_ = 0;
  // The ends of the list of the connected tasks, oldest sign of life first.
  task_index longest_silent_ = no_task;
  task_index last_to_beat_ = no_task;
  std::unordered_map<core::incarnation, task_index> by_incarnation_;
  std::unordered_map<std::string, task_index> by_peer_;
  change_log const log_;
};

}  // namespace muster::core::coordination
