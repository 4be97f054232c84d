// Disconnects tasks, immediately or when all tasks have reached the shutdown barrier.
#pragma once

#include "server/core/coordination/transitions/barrier_service.hpp"

namespace muster::core::coordination {

class shutdown {
 public:
  shutdown(step_frame& step, task_registry const& registry, barrier_table const& table,
           error_propagation& propagation, barrier_service& barriers)
      : step_(step),
        registry_(registry),
        table_(table),
        propagation_(propagation),
        barriers_(barriers) {}

  void on(shutdown_task& r);
  void on(reset_task& r) { leave(r.from, r.task, left_why::reset); }

 private:
  void enter(caller const& from, task_index t);
  void leave(caller const& from, task_ref const& who, left_why why);

  step_frame& step_;
  task_registry const& registry_;
  barrier_table const& table_;
  error_propagation& propagation_;
  barrier_service& barriers_;
};

}  // namespace muster::core::coordination
