// What becomes of a generation: when it began and ended, what failed it, who is to blame. The first
// failure that counts is its cause, all later ones are casualties. Owned by `service`; engine
// thread only; pure.
#pragma once

#include "server/core/coordination/barriers/barrier_table.hpp"
#include "server/core/coordination/errors/failure_record.hpp"
#include "server/core/coordination/tasks/task_registry.hpp"
#include "server/core/coordination/transitions/coordination_step_frame.hpp"

namespace muster::core::coordination {

class generation_record {
 public:
  /// REQUIRES: all outlive it.
  generation_record(step_frame& step, task_registry const& registry, barrier_table const& barriers)
      : step_(step), registry_(registry), barriers_(barriers) {}

  failure_record const& failures() const { return failures_; }
  /// Whether it waits for tasks, runs, has finished or failed.
  generation_state state() const;

  /// A task registers.
  void begin(task_index t);
  /// A task is connected: unless the generation has failed, it goes on.
  void go_on() {
    if (!failures_.failed() && ended_ != time_point{}) end(generation_why::goes_on, {});
  }
  /// False: the task may come and go, so its error is nobody's cause. `no_task`: none in
  /// particular.
  bool blame(task_index t, std::string const& message);
  /// See failure_record.
  void add_victim(task_index t) {
    if (failures_.add_victim(t)) step_.changes.note(victim_found{t});
  }
  bool tell_everybody(fault_ptr const& f) {
    if (!failures_.tell_everybody(f)) return false;
    step_.changes.note(error_told{f});
    return true;
  }
  /// Calls are refused from now on, with what everybody is told; see fail_cluster. Before `fail`.
  void refuse() { refuses_ = true; }
  bool refuses() const { return refuses_; }
  /// Once; the fault says what people and tasks are told of it.
  void fail(fault_ptr const& f, generation_why why);
  /// Tasks have left. It ends when everybody was there and nobody is any more.
  void end_if_all_left();
  void stop() {
    if (ended_ == time_point{}) end(generation_why::stopped, step_.now);
  }

  /// Fills in what people see of its course and its end.
  void describe(generation_view& v) const;
  /// See service.
  cluster_fact facts() const;
  /// As it was in an earlier process. REQUIRES: nothing has happened in it.
  void restore(cluster_fact const& f);
  /// All of it, as changes.
  void say_whole(change_log const& log) const;

 private:
  bool all_left() const;
  void end(generation_why why, time_point at) {
    ended_ = at;
    say(why);
  }
  void say(generation_why why) const {
    step_.changes.note(generation_changed{started_, ended_, failures_.failed(), refuses_, why});
  }

  step_frame& step_;
  task_registry const& registry_;
  barrier_table const& barriers_;
  failure_record failures_;
  time_point started_{};
  time_point ended_{};
  bool refuses_ = false;
};

}  // namespace muster::core::coordination
