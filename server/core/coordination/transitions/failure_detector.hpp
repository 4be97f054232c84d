// Which tasks have failed: by their own word, since they stopped beating, or since their connection
// was closed and nothing was heard of them. Owned by `service`; engine thread only; pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "server/core/coordination/transitions/error_propagation.hpp"

namespace muster::core::coordination {

class failure_detector {
 public:
  /// REQUIRES: all outlive it.
  failure_detector(step_frame& step, task_registry& registry, closed_connections& closed,
                   wording const& words, generation_record& record, error_propagation& propagation)
      : step_(step),
        registry_(registry),
        closed_(closed),
        words_(words),
        record_(record),
        propagation_(propagation) {}

  /// Answers its call.
  void on(report_error& r);
  /// The task has made a call, which is a sign of life like a heartbeat, unless another process of
  /// the task than the connected one has made it.
  void heard(task_index t, bool other_process);
  /// The connection by which it is heard of has ended.
  void connection_closed(task_index t);
  /// Nobody could be heard for so long.
  void forgive(duration lost);
  /// When somebody may have failed.
  time_point due() const;
  void check() {
    check_heartbeats();
    check_connections();
  }

 private:
  void check_heartbeats();
  void check_connections();
  /// Fails `dead`. `how` returns how a task died; `told` is the error of all others.
  void fail(std::vector<task_index> const& dead, failed_why why,
            std::function<std::string(task_index)> const& how, std::string const& told);

  step_frame& step_;
  task_registry& registry_;
  closed_connections& closed_;
  wording const& words_;
  generation_record& record_;
  error_propagation& propagation_;
  time_point next_check_{};  // heartbeats are not looked at more often than this
};

}  // namespace muster::core::coordination
