// Transitions of a single task. error_propagation handles the consequences for other tasks.
#pragma once

#include "server/core/coordination/transitions/error_polling.hpp"
#include "server/core/coordination/transitions/generation_record.hpp"
#include "server/core/coordination/transitions/preemption_notices.hpp"
#include "server/core/coordination/transitions/task_queries.hpp"

namespace muster::core::coordination {

class membership {
 public:
  membership(task_registry& registry, closed_connections& closed, task_queries& queries,
             preemption_notices& notices, error_polling& polls, generation_record& record)
      : registry_(registry),
        closed_(closed),
        queries_(queries),
        notices_(notices),
        polls_(polls),
        record_(record) {}

  /// Connects a task. A task that reconnects after an error is not notified of earlier failures in
  /// the same generation.
  void connect(task_index t, core::incarnation i, time_point now) {
    auto const other = registry_[t].incarnation != i;
    auto const back = registry_[t].state == agent_state::error;
    closed_.forget(t);
    if (other && registry_[t].ever_connected) queries_.forget_asked(t);
    if (other) notices_.forget(t);
    registry_.connect(t, i, now);
    polls_.join(t, back);
    record_.go_on();
  }
  /// Connects a task whose registration is waiting for other tasks.
  void join(task_index t, time_point now) { connect(t, registry_[t].registering.value(), now); }
  /// Handles a registration of a connected task. Returns whether a new process has replaced the
  /// task's process.
  bool reconnect(register_task const& r, time_point now) {
    auto const t = r.task.index;
    auto const other = registry_[t].incarnation != r.incarnation;
    if (other) {
      queries_.forget_asked(t);
      notices_.forget(t);
      registry_.replace(t, r.incarnation, now);
      polls_.join(t, false);
    }
    registry_.identify(t, r.incarnation, r.peer);
    registry_.keep_alive(t, now);
    closed_.forget(t);
    return other;
  }
  /// Records a heartbeat. Returns the fault that delivers an error which the task has not received,
  /// or null.
  fault_ptr beat(heartbeat const& r, time_point now) {
    auto const t = r.task.index;
    registry_.beat(t, now);
    // The connection may have changed, for example because the server restarted.
    if (!r.from.peer.empty() && registry_[t].peer != r.from.peer)
      registry_.identify(t, r.incarnation, r.from.peer);
    notices_.check_notice_wait(t);
    return polls_.unheard(t);
  }
  bool fail(task_index t, fault_ptr const& f, failed_why why) {
    if (!registry_.fail(t, f, record_.failures().is_casualty(t), why)) return false;
    notices_.forget(t);
    return true;
  }
  bool leave(task_index t, time_point grace_until, left_why why) {
    if (!registry_.disconnect(t, grace_until, why)) return false;
    notices_.forget(t);
    return true;
  }

 private:
  task_registry& registry_;
  closed_connections& closed_;
  task_queries& queries_;
  preemption_notices& notices_;
  error_polling& polls_;
  generation_record& record_;
};

}  // namespace muster::core::coordination
