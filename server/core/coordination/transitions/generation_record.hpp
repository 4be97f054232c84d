// What becomes of a generation: when it began and ended, what failed it, who is to blame. The first
// failure that counts is its cause, all later ones are casualties. Owned by `service`; engine
// thread only; pure.
#pragma once

#include <tuple>

#include "server/core/coordination/barriers/barrier_table.hpp"
#include "server/core/coordination/errors/failure_record.hpp"
#include "server/core/coordination/tasks/task_roster.hpp"
#include "server/core/coordination/transitions/step_frame.hpp"

namespace muster::core::coordination {

class generation_record {
 public:
  /// REQUIRES: all outlive it.
  generation_record(step_frame& step, task_roster const& roster, barrier_table const& barriers)
      : step_(step), roster_(roster), barriers_(barriers) {}

  failure_record const& failures() const { return failures_; }
  generation_state state() const;

  /// A task registers.
  void begin(task_index t);
  /// A task is connected: unless the generation has failed, it goes on.
  void go_on() {
    if (!failures_.failed()) ended_ = {};
  }
  /// False: the task may come and go, so its error is nobody's cause. `no_task`: none in
  /// particular.
  bool blame(task_index t, std::string const& message);
  /// See failure_record.
  void add_victim(task_index t) { failures_.add_victim(t); }
  bool tell_everybody(fault_ptr const& f) { return failures_.tell_everybody(f); }
  /// Once; the fault says why.
  void fail(fault_ptr const& f);
  /// Tasks have left. It ends when everybody was there and nobody is any more.
  void end_if_all_left();
  void stop() {
    if (ended_ == time_point{}) ended_ = step_.now;
  }

  void describe(generation_view& v) const;
  /// See service.
  cluster_fact facts() const;
  bool facts_changed();
  void restore(cluster_fact const& f);

 private:
  bool all_left() const;
  std::string number() const { return "generation " + std::to_string(step_.which.number); }

  step_frame& step_;
  task_roster const& roster_;
  barrier_table const& barriers_;
  failure_record failures_;
  time_point started_{};
  time_point ended_{};
  /// Of what was said last: times, whether it failed, has a cause; victims; what everybody was
  /// told.
  std::tuple<time_point, time_point, bool, bool, std::size_t, fault const*> said_{};
};

}  // namespace muster::core::coordination
