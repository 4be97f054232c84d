// Detects failed tasks by reported errors, missing heartbeats, and closed connections without a
// later message.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "server/core/coordination/transitions/error_propagation.hpp"

namespace muster::core::coordination {

class failure_detector {
 public:
  failure_detector(step_frame& step, task_registry& registry, closed_connections& closed,
                   task_descriptions const& words, generation_record& record,
                   error_propagation& propagation)
      : step_(step),
        registry_(registry),
        closed_(closed),
        descriptions_(words),
        record_(record),
        propagation_(propagation) {}

  void on(report_error& r);
  /// Records a call as the task's sign of life, unless a different process than the connected
  /// process sent the call.
  void heard(task_index t, bool other_process);
  void connection_closed(task_index t);
  /// Extends all timeouts by `lost`, the time in which the server received no messages.
  void forgive(duration lost);
  time_point due() const;
  void check() {
    check_heartbeats();
    check_connections();
  }

 private:
  void check_heartbeats();
  void check_connections();
  /// Fails the dead tasks. `how` returns how a task died; `told` is the error for all other tasks.
  void fail(std::vector<task_index> const& dead, failed_why why,
            std::function<std::string(task_index)> const& how, std::string const& told);

  step_frame& step_;
  task_registry& registry_;
  closed_connections& closed_;
  task_descriptions const& descriptions_;
  generation_record& record_;
  error_propagation& propagation_;
  time_point next_check_{};
};

}  // namespace muster::core::coordination
