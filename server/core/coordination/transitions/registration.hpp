// Handles registrations and heartbeats of tasks.
#pragma once

#include "server/core/coordination/transitions/barrier_service.hpp"

namespace muster::core::coordination {

class registration {
 public:
  registration(step_frame& step, task_registry& registry, generation_record& record,
               membership& members, error_propagation& propagation, barrier_service& barriers)
      : step_(step),
        registry_(registry),
        record_(record),
        members_(members),
        propagation_(propagation),
        barriers_(barriers) {}

  void on(register_task& r);
  void on(heartbeat& r);

 private:
  /// Returns whether a new incarnation can end the task's error in this generation.
  bool takes_back(task const& a) const;
  void reconnect(register_task const& r);
  void fail(caller const& from, task_index t, std::string const& why);

  step_frame& step_;
  task_registry& registry_;
  generation_record& record_;
  membership& members_;
  error_propagation& propagation_;
  barrier_service& barriers_;
};

}  // namespace muster::core::coordination
