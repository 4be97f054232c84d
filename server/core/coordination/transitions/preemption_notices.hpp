// Who hears of a preemption, by JAX's own key: see notice_listeners. The server cannot keep the
// wait of a connection that is gone, and JAX never makes it again, so who hears nothing is said.
// Owned by `service`; engine thread only; pure.
#pragma once

#include "server/core/coordination/api/coordination_views.hpp"
#include "server/core/coordination/groups/notice_listeners.hpp"
#include "server/core/coordination/key_values/key_value_store.hpp"
#include "server/core/coordination/transitions/coordination_step_frame.hpp"
#include "server/core/coordination/wording.hpp"

namespace muster::core::coordination {

class preemption_notices {
 public:
  /// REQUIRES: all outlive it.
  preemption_notices(step_frame& step, task_registry& registry, key_value_store const& store,
                     wording const& words)
      : step_(step),
        registry_(registry),
        store_(store),
        words_(words),
        listeners_(registry.size(), step.changes) {}

  /// Whether who waits for the key waits to hear of a preemption.
  static bool is_notice(std::string_view key) { return key == notice_key; }

  void listen(task_index t) {
    if (t == no_task || registry_[t].state != agent_state::connected) return;
    listeners_.waits(t);
    registry_.note_hears(t, true);
  }
  /// The wait is over. A wait of the process before ends with its connection, which may be long
  /// after. `told`: with the notice.
  void listened(waiting_call const& w, bool told) {
    if (w.task != no_task && w.since >= registry_[w.task].registered_at)
      listeners_.over(w.task, told);
  }
  /// The task leaves, fails or is another process.
  void forget(task_index t) {
    listeners_.forget(t);
    registry_.note_hears(t, false);
  }
  /// It listened before the server began again.
  void restore(task_index t) { listeners_.restore(t); }
  void say_whole(change_log const& log) const { listeners_.say_whole(log); }
  /// It beats, so it lives; and it did listen. Once the notice is set nobody has to wait for it.
  void check_hearing(task_index t) {
    if (listeners_.is_lost(t) && !is_set()) listeners_.turn_deaf(t, step_.now);
  }

  /// When people are to hear of those that turned deaf.
  time_point due() const { return listeners_.due(); }
  void tell_deaf();
  /// REQUIRES: those who waited for it were answered.
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
