// Delivers preemption notices through JAX's key; see notice_waits. A wait ends with its connection,
// and JAX never repeats a wait. Tasks that cannot be notified are therefore reported.
#pragma once

#include "server/core/coordination/api/coordination_views.hpp"
#include "server/core/coordination/groups/notice_listeners.hpp"
#include "server/core/coordination/key_values/key_value_store.hpp"
#include "server/core/coordination/task_descriptions.hpp"
#include "server/core/coordination/transitions/coordination_step_frame.hpp"

namespace muster::core::coordination {

class preemption_notices {
 public:
  preemption_notices(step_frame& step, task_registry& registry, key_value_store const& store,
                     task_descriptions const& words)
      : step_(step),
        registry_(registry),
        store_(store),
        descriptions_(words),
        listeners_(registry.size(), step.changes) {}

  static bool is_notice(std::string_view key) { return key == notice_key; }

  void listen(task_index t) {
    if (t == no_task || registry_[t].state != agent_state::connected) return;
    listeners_.waits(t);
    registry_.set_notice_wait(t, true);
  }
  /// Records the end of a wait. `told` is true if the notice was delivered. Ignores waits of an
  /// earlier process, which can end much later.
  void listened(waiting_call const& w, bool told) {
    if (w.task != no_task && w.since >= registry_[w.task].registered_at)
      listeners_.over(w.task, told);
  }
  void forget(task_index t) {
    listeners_.forget(t);
    registry_.set_notice_wait(t, false);
  }
  void restore(task_index t) { listeners_.restore(t); }
  void write_state(change_log const& log) const { listeners_.write_state(log); }
  /// Called at a heartbeat. Marks a living task as unreachable if its wait was lost, unless the
  /// notice is already set.
  void check_notice_wait(task_index t) {
    if (listeners_.is_lost(t) && !is_set()) listeners_.mark_unreachable(t, step_.now);
  }

  time_point due() const { return listeners_.due(); }
  void report_unreachable();
  /// REQUIRES: calls that waited for the notice were answered.
  void notice_set();
  unreachable_tasks unheard() const;

 private:
  static constexpr std::string_view notice_key = "RECEIVED_PREEMPTION_NOTICE";
  bool is_set() const { return store_.find(notice_key) != nullptr; }
  void send_notice(std::vector<task_index> const& of, bool set);

  step_frame& step_;
  task_registry& registry_;
  key_value_store const& store_;
  task_descriptions const& descriptions_;
  notice_waits listeners_;
};

}  // namespace muster::core::coordination
