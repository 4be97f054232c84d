// Errors: of one task, and how they reach everybody.
#include "server/core/coordination/standalone_service.hpp"

namespace muster::core::coordination {
namespace {

constexpr std::size_t errors_told = 20;  // notices about tasks that fail at one moment

}  // namespace

fault_ptr standalone_service::about(task_index t, muster::code c, std::string message,
                                    bool reported) const {
  auto f = std::make_shared<fault>();
  f->code = c;
  f->message = cut(message);
  f->source = t;
  f->reported = reported;
  return f;
}

fault_ptr standalone_service::barrier_fault(barrier_type const& b, muster::code c,
                                            std::string message) const {
  auto f = std::make_shared<fault>();
  f->code = c;
  f->message = cut(message, b.id.size());
  f->barrier = barrier_instance{b.id, b.counter};
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
  return shortened(message, 2'400) + "\nFirst cause: " + shortened(cause_->message, 600);
}

// The first error of a task is kept until it leaves or comes back. False: it had one already.
bool standalone_service::mark_error(task_index t, fault_ptr const& f) {
  auto& a = roll_[t];
  if (a.state == agent_state::error) return false;
  if (a.state == agent_state::connected) {
    roll_.stop_beating(t);
    --connected_;
  }
  ++in_error_;
  a.casualty = cause_ && cause_task_ != t && !victims_.contains(t);
  a.state = agent_state::error;
  a.error = f;
  changed();
  return true;
}

// Tasks fail at one moment. Everybody is told, once a generation, unless all of them may come and
// go. The order matters: all are marked before any barrier breaks, and the root is told before
// what it breaks, so that nobody hears of a consequence first.
void standalone_service::fail_tasks(std::vector<task_error> const& errors, fault_ptr const& told) {
  std::vector<task_error> fresh;
  bool counts = errors.empty();
  for (auto const& e : errors) {
    counts = counts || !recoverable(e.task);
    blame(e.task, e.error->message);
    if (!mark_error(e.task, e.error)) continue;
    fresh.push_back(e);
    if (!roll_[e.task].casualty && fresh.size() <= errors_told)
      tell(severity::error, "task_error", task_name(e.task), e.error->message);
  }
  auto const fails = counts && !failed_ && !spec_.recoverable;
  if (fails) {
    fail_generation(told);
    if (polled_) broadcast(told);
  }
  leave_barriers(fresh);
  check_all_alive();
  if (fails && !polled_)
    set_all_errors(
        "All tasks were set to error because coordination service encountered an error, but was "
        "unable to inform clients. Error: " +
        told->message);
}

// One fault for all of them: ten thousand copies of a long text would be for nothing.
void standalone_service::set_all_errors(std::string const& message) {
  auto const f = about(cause_task_, code::internal, message);
  std::vector<task_error> fresh;
  for (task_index t = 0; t < roll_.size(); ++t)
    if (mark_error(t, f)) fresh.push_back({t, f});
  leave_barriers(fresh);
  check_all_alive();
}

void standalone_service::fail_generation(fault_ptr const& f) {
  if (failed_) return;
  failed_ = true;
  ended_ = now_;
  tell(severity::error, "generation_failed", {},
       "generation " + std::to_string(generation_.number) + ": " + f->message);
}

void standalone_service::broadcast(fault_ptr const& f) {
  if (broadcast_) return;
  broadcast_ = f;
  for (task_index t = 0; t < roll_.size(); ++t) {
    auto const call = roll_[t].poll;
    if (call == call_id{}) continue;
    roll_[t].poll = {};
    roll_[t].told = true;
    parked_.take(call);
    answer(call, f);
  }
}

void standalone_service::on(report_error& r) {
  if (r.task.index == no_task)
    return refuse(r.from, code::invalid_argument,
                  "Unexpected request from task " + r.task.name + ": not in the cluster");
  auto const t = r.task.index;
  if (roll_[t].state != agent_state::connected)
    return refuse(r.from, code::failed_precondition,
                  "The task is not connected or already has an error.");
  auto const c = r.code == code::ok ? code::unknown : r.code;
  auto const f = about(t, c, std::move(r.message), true);
  fail_tasks({{t, f}}, f);
  answer(r.from.call, std::monostate{});
}

void standalone_service::on(poll_for_error& r) {
  polled_ = true;
  if (r.task.index == no_task)
    return refuse(r.from, code::invalid_argument,
                  "Unexpected task (" + r.task.name +
                      ") that is not in the cluster polling for "
                      "errors.");
  auto const t = r.task.index;
  auto& a = roll_[t];
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
  if (broadcast_) {
    a.told = true;
    return answer(r.from.call, broadcast_);
  }
  if (parked_.size() >= limits_.parked_calls_max)
    return refuse(r.from, code::resource_exhausted,
                  "the cluster has reached its limit of parked calls");
  cancel_poll(t, "there is a more recent poll of the same task.");
  a.poll = r.from.call;
  // No deadline: the poll must outlive everything; it ends with the caller, the task or the
  // service.
  caller const patient{.call = r.from.call};
  park(patient, waiting(wait_kind::poll, patient, t));
}

}  // namespace muster::core::coordination
