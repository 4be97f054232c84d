// Errors: of one task, and how they reach everybody.
#include "server/core/coordination/standalone_service.hpp"

namespace muster::core::coordination {

fault_ptr standalone_service::about(task_index t, core::code c, std::string message,
                                    bool reported) const {
  auto f = std::make_shared<fault>();
  f->code = c;
  f->message = cut(std::move(message));
  f->source = t;
  f->reported = reported;
  return f;
}

// The first failure of a generation that counts is its cause; all later ones are casualties.
void standalone_service::blame(task_index t, std::string const& message) {
  if (cause_ || (t != no_task && recoverable(t))) return;
  cause_ = first_cause{t == no_task ? std::string() : task_name(t),
                       t == no_task ? std::string() : roll_[t].peer, message, now_};
  cause_task_ = t;
}

std::string standalone_service::with_cause(std::string message) const {
  if (!cause_ || message.find(cause_->message) != std::string::npos) return message;
  auto const first = cause_->message.substr(0, 600);
  return message + "\nFirst cause: " + first;
}

// The first error of a task is kept until it leaves or comes back. False: it had one already.
bool standalone_service::set_error(task_index t, fault_ptr f) {
  auto& a = roll_[t];
  if (a.state == agent_state::error) return false;
  if (a.state == agent_state::connected) {
    roll_.stop_beating(t);
    --connected_;
  }
  blame(t, f->message);
  a.casualty = cause_ && cause_task_ != t && !victims_.contains(t);
  a.state = agent_state::error;
  a.error = f;
  if (!a.casualty) tell(severity::error, "task_error", task_name(t), f->message);
  leave_barriers(t, f->message);
  check_all_alive(t);
  changed();
  return true;
}

void standalone_service::set_all_errors(std::string const& message) {
  for (task_index t = 0; t < roll_.size(); ++t) set_error(t, about(t, code::internal, message));
}

void standalone_service::fail_generation(fault_ptr f) {
  if (failed_) return;
  failed_ = true;
  ended_ = now_;
  tell(severity::error, "generation_failed", {},
       "generation " + std::to_string(generation_.number) + ": " + f->message);
}

void standalone_service::propagate(fault_ptr f, std::vector<task_index> const& sources) {
  if (broadcast_ || failed_) return;
  bool counts = sources.empty();
  for (auto const t : sources) counts = counts || !recoverable(t);
  if (spec_.recoverable || !counts) return;
  fail_generation(f);
  if (!polled_)
    return set_all_errors(
        "All tasks were set to error because coordination service encountered an error, but was "
        "unable to inform clients. Error: " +
        f->message);
  broadcast_ = f;
  for (task_index t = 0; t < roll_.size(); ++t) {
    auto const call = roll_[t].poll;
    if (call == call_id{}) continue;
    roll_[t].poll = {};
    parked_.take(call);
    answer(call, f);
  }
}

void standalone_service::on(report_error& r) {
  if (stopped_)
    return refuse(r.from, code::internal, "Coordination service has stopped. ReportError()");
  if (r.task.index == no_task)
    return refuse(r.from, code::invalid_argument,
                  "Unexpected request from task " + r.task.name + ": not in the cluster");
  auto const t = r.task.index;
  if (roll_[t].state != agent_state::connected)
    return refuse(r.from, code::failed_precondition,
                  "The task is not connected or already has an error.");
  auto const c = r.code == code::ok ? code::unknown : r.code;
  auto const f = about(t, c, r.message, true);
  set_error(t, f);
  propagate(f, {t});
  answer(r.from.call, std::monostate{});
}

void standalone_service::on(poll_for_error& r) {
  if (stopped_)
    return refuse(r.from, code::internal, "Coordination service has stopped. PollForError()");
  polled_ = true;
  if (r.task.index == no_task)
    return refuse(r.from, code::invalid_argument,
                  "Unexpected task (" + r.task.name +
                      ") that is not in the cluster polling for "
                      "errors.");
  auto const t = r.task.index;
  auto const& a = roll_[t];
  if (a.state == agent_state::disconnected && now_ > a.grace_until)
    return refuse(r.from, code::failed_precondition,
                  "Task (" + task_name(t) +
                      ") that has not been registered or has disconnected polling for errors.");
  if (a.state == agent_state::error)
    return refuse(r.from, code::failed_precondition,
                  "Task (" + task_name(t) +
                      ") that is already in error state polling for errors. "
                      "Current error: " +
                      a.error->message);
  if (broadcast_) return answer(r.from.call, broadcast_);
  if (parked_.size() >= limits_.parked_calls_max)
    return refuse(r.from, code::resource_exhausted,
                  "the cluster has reached its limit of parked calls");
  cancel_poll(t, "there is a more recent poll of the same task.");
  roll_[t].poll = r.from.call;
  // No deadline: the poll must outlive everything; it ends with the caller, the task or the
  // service.
  park({r.from.call, never, {}}, waiting(wait_kind::poll, {r.from.call, never, {}}, t));
}

}  // namespace muster::core::coordination
