// Records the start, end and failure of a generation, and which task is to blame. The first failure
// that counts is the cause; later failures are consequences.
#pragma once

#include "server/core/coordination/barriers/barrier_table.hpp"
#include "server/core/coordination/errors/failure_record.hpp"
#include "server/core/coordination/tasks/task_registry.hpp"
#include "server/core/coordination/transitions/coordination_step_frame.hpp"

namespace muster::core::coordination {

class generation_record {
 public:
  generation_record(step_frame& step, task_registry const& registry, barrier_table const& barriers)
      : step_(step), registry_(registry), barriers_(barriers) {}

  failure_record const& failures() const { return failures_; }
  generation_state state() const;

  void begin(task_index t);
  /// Called when a task has connected. Continues a generation that ended without failure.
  void go_on() {
    if (!failures_.failed() && ended_ != time_point{}) end(generation_why::goes_on, {});
  }
  /// Records the cause unless a cause is already recorded. `t` is `no_task` if no single task is to
  /// blame. Returns false for a recoverable task, whose errors are not causes.
  bool blame(task_index t, std::string const& message);
  void add_victim(task_index t) {
    if (failures_.add_victim(t)) step_.changes.note(victim_found{t});
  }
  bool set_broadcast(fault_ptr const& f) {
    if (!failures_.set_broadcast(f)) return false;
    step_.changes.note(error_delivered{f});
    return true;
  }
  /// Makes later calls fail with the common error; see fail_cluster. REQUIRES: fail() has not been
  /// called.
  void refuse() { refuses_ = true; }
  bool refuses() const { return refuses_; }
  /// `f` is the error that is displayed and sent to tasks.
  void fail(fault_ptr const& f, generation_why why);
  void end_if_all_left();
  void stop() {
    if (ended_ == time_point{}) end(generation_why::stopped, step_.now);
  }

  void describe(generation_view& v) const;
  cluster_fact facts() const;
  /// REQUIRES: no event was handled.
  void restore(cluster_fact const& f);
  void write_state(change_log const& log) const;

 private:
  bool all_left() const;
  void end(generation_why why, time_point at) {
    ended_ = at;
    append_record(why);
  }
  void append_record(generation_why why) const {
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
