// Handles one-time queries for task states, waits for state changes, and queries for the living
// tasks of a set.
#pragma once

#include "server/core/coordination/groups/alive_groups.hpp"
#include "server/core/coordination/groups/task_watches.hpp"
#include "server/core/coordination/tasks/task_registry.hpp"
#include "server/core/coordination/transitions/coordination_step_frame.hpp"

namespace muster::core::coordination {

class task_queries {
 public:
  task_queries(step_frame& step, task_registry const& registry);

  void on(get_task_state& r);
  void on(watch_tasks& r);
  /// Answers with the living tasks of the set when each of them has sent a query or is
  /// disconnected.
  void on(get_alive_tasks& r);

  /// Must be called after a task was disconnected, because queries may now be complete.
  void check_alive();
  /// Cancels queries of the task's previous process.
  void forget_asked(task_index t);
  void note_change() { watches_.note_change(step_.now); }
  time_point due() const { return watches_.due(); }
  void notify_watchers();
  /// Removes a cancelled call from the waiting watches or queries. REQUIRES: the call is no longer
  /// parked.
  void withdraw(call_id call, waiting_call const& w);

  std::size_t watching() const { return watches_.waiting(); }
  alive_groups const& alive() const { return alive_; }

 private:
  std::shared_ptr<task_states const> snapshot(std::size_t list);
  bool connected(task_index t) const { return registry_[t].state == agent_state::connected; }
  void check(alive_group_id g);

  step_frame& step_;
  task_registry const& registry_;
  task_watches watches_;
  alive_groups alive_;
};

}  // namespace muster::core::coordination
