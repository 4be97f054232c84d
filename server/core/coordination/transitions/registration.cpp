#include "server/core/coordination/transitions/registration.hpp"

namespace muster::core::coordination {

void registration::on(register_task& r) {
  auto const t = r.task.index;
  if (t == no_task)
    return step_.refuse(r.from, code::invalid_argument,
                        "Unexpected task registered with task=" + shortened(r.task.name, 256) +
                            ": cluster '" + step_.spec.name + "' has " +
                            std::to_string(step_.spec.size()) + " tasks");
  registry_.seen(t, step_.now);
  if (r.recoverable) registry_.become_recoverable(t);
  record_.begin(t);
  auto const& a = registry_[t];
  if (a.state == agent_state::connected) return reconnect(r);
  if (a.state == agent_state::error && !takes_back(a))
    return fail(r.from, t,
                " unexpectedly tried to connect while it is already in error. ResetTask() should "
                "be called before a subsequent connect attempt. Existing error: " +
                    a.error->message);
  registry_.identify(t, r.incarnation, r.peer);
  if (step_.spec.register_barrier) {
    arrival waits{.id = step_.own.registration,
                  .timeout = step_.spec.register_timeout,
                  .task = t,
                  .purpose = barrier_purpose::registration};
    if (!barriers_.enter(r.from, std::move(waits), r.task, {}, r.incarnation)) return;
  }
  members_.connect(t, r.incarnation, step_.now);
  step_.answer(r.from.call, step_.which.incarnation);
}

bool registration::takes_back(task const& a) const {
  return (a.recoverable || step_.spec.allow_reconnect) && a.error &&
         a.error->code == code::unavailable;
}

void registration::reconnect(register_task const& r) {
  auto const t = r.task.index;
  auto const& a = registry_[t];
  if (a.incarnation != r.incarnation && !a.recoverable)
    return fail(r.from, t,
                " unexpectedly tried to connect with a different incarnation. It has likely "
                "restarted.");
  if (a.recoverable)
    propagation_.leave_barriers(
        {{t, task_fault(t, code::aborted, step_.task_name(t) + " has registered again")}});
  if (members_.reconnect(r, step_.now))
    step_.report_incident(incidents::task_restarted{step_.task_name(t)});
  step_.answer(r.from.call, step_.which.incarnation);
}

void registration::fail(caller const& from, task_index t, std::string const& why) {
  auto const f = task_fault(t, code::aborted, step_.task_name(t) + why);
  step_.answer(from.call, f);
  propagation_.fail(t, f, failed_why::restarted);
}

void registration::on(heartbeat& r) {
  auto const t = r.task.index;
  if (t == no_task)
    return step_.refuse(r.from, code::invalid_argument,
                        "Unexpected heartbeat request from task: " + r.task.name +
                            ". This usually implies a configuration error.");
  auto const& a = registry_[t];
  if (a.state == agent_state::error)
    return step_.refuse(r.from, code::aborted,
                        "Unexpected heartbeat request from an already-in-error task: " +
                            step_.task_name(t) + " with existing error: " + a.error->message);
  if (a.state == agent_state::disconnected && step_.now > a.grace_until)
    return step_.refuse(r.from, code::invalid_argument,
                        step_.task_name(t) +
                            " must be registered before sending heartbeat messages. The service "
                            "might have restarted, or the task has disconnected earlier.");
  auto const connected = a.state == agent_state::connected;
  if (connected && a.incarnation != r.incarnation && !a.recoverable)
    return fail(r.from, t,
                " Heartbeat: Incarnation ID mismatch: expecting " +
                    std::to_string(raw(a.incarnation)) + " but got " +
                    std::to_string(raw(r.incarnation)) + ". The task has restarted.");
  // Delivers the failure to tasks without a parked poll.
  if (connected && a.incarnation == r.incarnation)
    if (auto f = members_.beat(r, step_.now)) return step_.answer(r.from.call, std::move(f));
  step_.answer(r.from.call, step_.which.incarnation);
}

}  // namespace muster::core::coordination
