// Delivery of preemption notices by JAX's key; see notice_listeners. A wait ends with its
// connection, and JAX never repeats it, so tasks that cannot be notified are reported. Owned by
// `service`; engine thread only; pure.
#pragma once

#include "server/core/coordination/api/coordination_views.hpp"
#include "server/core/coordination/groups/notice_listeners.hpp"
#include "server/core/coordination/key_values/key_value_store.hpp"
#include "server/core/coordination/transitions/coordination_step_frame.hpp"
#include "server/core/coordination/wording.hpp"

namespace muster::core::coordination {

class preemption_notices {
 public:
  /// REQUIRES: all references outlive this object.
  preemption_notices(step_frame& step, task_registry& registry, key_value_store const& store,
                     wording const& words)
      : step_(step),
        registry_(registry),
        store_(store),
        words_(words),
        listeners_(registry.size(), step.changes) {}

  /// Whether the key is that of the preemption notice.
  static bool is_notice(std::string_view key) { return key == notice_key; }

  void listen(task_index t) {
    if (t == no_task || registry_[t].state != agent_state::connected) return;
    listeners_.waits(t);
    registry_.note_hears(t, true);
  }
  /// Notes the end of a wait; `told`: by the notice. Ignored for a wait of an earlier process,
  /// which can end long after the process.
  void listened(waiting_call const& w, bool told) {
    if (w.task != no_task && w.since >= registry_[w.task].registered_at)
      listeners_.over(w.task, told);
  }
  /// Notes that the task leaves, fails or is replaced.
  void forget(task_index t) {
    listeners_.forget(t);
    registry_.note_hears(t, false);
  }
  /// Notes that the task listened before the server restarted.
  void restore(task_index t) { listeners_.restore(t); }
  void say_whole(change_log const& log) const { listeners_.say_whole(log); }
  /// Notes a heartbeat. A living task that has lost its wait is deaf, unless the notice is set.
  void check_hearing(task_index t) {
    if (listeners_.is_lost(t) && !is_set()) listeners_.turn_deaf(t, step_.now);
  }

  /// Returns when deaf tasks are to be reported.
  time_point due() const { return listeners_.due(); }
  void tell_deaf();
  /// REQUIRES: calls that waited for the notice were answered.
  void notice_set();
  unheard_notices unheard() const;

 private:
  static constexpr std::string_view notice_key = "RECEIVED_PREEMPTION_NOTICE";
  bool is_set() const { return store_.find(notice_key) != nullptr; }
  void tell(std::vector<task_index> const& of, bool set);

  step_frame& step_;
  task_registry& registry_;
  key_value_store const& store_;
  wording const& words_;
  notice_listeners listeners_;
};

}  // namespace muster::core::coordination
