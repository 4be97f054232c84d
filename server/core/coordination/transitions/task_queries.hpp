// Who asks how tasks are: once, with each change, or which of a set are alive. Owned by `service`,
// whose requests of that kind come here; engine thread only; pure.
#pragma once

#include "server/core/coordination/groups/alive_groups.hpp"
#include "server/core/coordination/groups/task_watches.hpp"
#include "server/core/coordination/tasks/task_registry.hpp"
#include "server/core/coordination/transitions/coordination_step_frame.hpp"

namespace muster::core::coordination {

class task_queries {
 public:
  /// REQUIRES: both outlive it.
  task_queries(step_frame& step, task_registry const& registry);

  // Each answers or parks its call.
  void on(get_task_state& r);
  /// Answers when states of tasks are newer than the version that the caller knows.
  void on(watch_tasks& r);
  /// Answers when all of the asked tasks have asked, or can not any more, with those that are
  /// alive.
  void on(get_alive_tasks& r);

  /// Somebody is not connected any more: sets that ask who is alive may be complete without it.
  void check_alive();
  /// Another process takes the task's place: what the one before asked is not its question.
  void forget_asked(task_index t);
  /// Some state has changed in this step.
  void note_change() { watches_.note_change(step_.now); }
  /// When watchers are to be told.
  time_point due() const { return watches_.due(); }
  /// Answers who watches, when states have changed.
  void tell_watchers();
  /// The call waits no longer. REQUIRES: it waited here, and was taken from the parked ones.
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
