#include "server/core/coordination/transitions/error_polling.hpp"

namespace muster::core::coordination {

void error_polling::on(poll_for_error& r) {
  if (!by_heartbeat()) polls_.note_poller();
  auto const t = r.task.index;
  if (t == no_task)
    return step_.refuse(
        r.from, code::invalid_argument,
        "Unexpected task (" + r.task.name + ") that is not in the cluster polling for errors.");
  auto const& a = registry_[t];
  if (a.state == agent_state::disconnected && step_.now > a.grace_until)
    return step_.refuse(
        r.from, code::failed_precondition,
        "Task (" + step_.task_name(t) +
            ") that has not been registered or has disconnected polling for errors.");
  if (a.state == agent_state::error)
    return step_.refuse(r.from, code::failed_precondition,
                        "Task (" + step_.task_name(t) +
                            ") that is already in error state polling for errors. Current error: " +
                            a.error->message);
  if (auto const& told = record_.failures().broadcast()) {
    polls_.mark_delivered(t, true);
    return step_.answer(r.from.call, told);
  }
  if (by_heartbeat())  // agents stop polling and survive
    return step_.refuse(r.from, code::cancelled,
                        "Errors are reported in the answers to heartbeats.");
  if (step_.refused_as_full(r.from)) return;
  cancel(t, "there is a more recent poll of the same task.");
  polls_.add(t, r.from.call);
  closed_.forget(t);
  // The poll has no deadline; only the caller, the task or the service ends it.
  step_.park({.call = r.from.call}, wait_kind::poll, t, 0);
}

void error_polling::broadcast(fault_ptr const& f) {
  if (!record_.set_broadcast(f)) return;
  for (task_index t = 0; t < registry_.size(); ++t) {
    auto const call = polls_.take(t);
    if (call == call_id{}) continue;
    polls_.mark_delivered(t, true);
    step_.calls.take(call);
    step_.answer(call, f);
  }
}

fault_ptr error_polling::unheard(task_index t) const {
  auto const& told = record_.failures().broadcast();
  if (!told || polls_.told(t)) return nullptr;
  return heartbeat_fault(*told, by_heartbeat()
                                    ? std::string()
                                    : ", and " + step_.task_name(t) + " does not poll for errors");
}

void error_polling::cancel(task_index t, std::string_view why) {
  auto const call = polls_.take(t);
  if (call == call_id{}) return;
  step_.calls.take(call);
  step_.answer(
      call, task_fault(t, code::cancelled, "Cancelled error polling because: " + std::string(why)));
}

}  // namespace muster::core::coordination
