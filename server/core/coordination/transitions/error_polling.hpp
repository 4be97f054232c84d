// How tasks hear that the cluster has failed: by the polls that they park, or by their heartbeats.
// Owned by `service`; engine thread only; pure.
#pragma once

#include "server/core/coordination/errors/error_polls.hpp"
#include "server/core/coordination/tasks/closed_connections.hpp"
#include "server/core/coordination/transitions/generation_record.hpp"

namespace muster::core::coordination {

class error_polling {
 public:
  /// REQUIRES: all outlive it.
  error_polling(step_frame& step, task_registry const& registry, closed_connections& closed,
                generation_record& record)
      : step_(step),
        registry_(registry),
        closed_(closed),
        record_(record),
        polls_(registry.size()) {}

  /// Answers or parks its call.
  void on(poll_for_error& r);

  /// See error_delivery.
  bool by_heartbeat() const {
    return step_.spec.errors == error_delivery::heartbeat ||
           (step_.spec.errors == error_delivery::automatic && step_.limits.outlives);
  }
  bool polled() const { return polls_.polled(); }
  /// By their polls or by their heartbeats: they stay connected until they have heard of an error.
  bool told_one_by_one() const { return polled() || by_heartbeat(); }
  /// Whoever polls is told, once a generation.
  void broadcast(fault_ptr const& f);
  /// The refusal by which a task's heartbeat tells of the error that everybody is told; null: there
  /// is none, or it has heard.
  fault_ptr unheard(task_index t) const;
  /// A process takes the task's place. `back`: from an error, into what has perhaps failed by then.
  void join(task_index t, bool back) {
    polls_.set_told(t, back && record_.failures().broadcast() != nullptr);
  }
  void cancel(task_index t, std::string_view why);
  /// The task's poll waits no longer. REQUIRES: it was taken from the parked calls.
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
