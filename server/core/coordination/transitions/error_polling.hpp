// Delivers errors to tasks, by parked polls or by heartbeats.
#pragma once

#include "server/core/coordination/errors/error_polls.hpp"
#include "server/core/coordination/tasks/closed_connections.hpp"
#include "server/core/coordination/transitions/generation_record.hpp"

namespace muster::core::coordination {

class error_polling {
 public:
  error_polling(step_frame& step, task_registry const& registry, closed_connections& closed,
                generation_record& record)
      : step_(step),
        registry_(registry),
        closed_(closed),
        record_(record),
        polls_(registry.size()) {}

  void on(poll_for_error& r);

  /// Returns whether heartbeats deliver errors; see error_delivery.
  bool by_heartbeat() const {
    return step_.spec.errors == error_delivery::heartbeat ||
           (step_.spec.errors == error_delivery::automatic && step_.limits.outlives);
  }
  bool polled() const { return polls_.polled(); }
  /// Returns whether each task receives errors individually and stays connected until then.
  bool told_one_by_one() const { return polled() || by_heartbeat(); }
  void broadcast(fault_ptr const& f);
  /// Returns the fault that refuses a heartbeat to deliver the common error, or null if there is no
  /// error or the task has received it.
  fault_ptr unheard(task_index t) const;
  /// Records that a new process has joined as this task. `back` is true if the task was in error;
  /// if so, the process is not notified of earlier failures in the same generation.
  void join(task_index t, bool back) {
    polls_.mark_delivered(t, back && record_.failures().broadcast() != nullptr);
  }
  void cancel(task_index t, std::string_view why);
  /// Forgets the task's poll. REQUIRES: the poll is no longer parked.
  void withdraw(task_index t) { polls_.take(t); }

  error_polls const& polls() const { return polls_; }

 private:
  step_frame& step_;
  task_registry const& registry_;
  closed_connections& closed_;
  generation_record& record_;
  error_polls polls_;
};

}  // namespace muster::core::coordination
