// How tasks come, fail and leave, and how errors reach everybody.
#include <algorithm>

#include "server/core/coordination/service.hpp"

namespace muster::core::coordination {
namespace {

constexpr std::size_t errors_told = 20;  // remarks about tasks that fail at one moment

}  // namespace

void service::on(register_task& r) {
  auto const t = r.task.index;
  if (t == no_task)
    return step_.refuse(r.from, code::invalid_argument,
                        "Unexpected task registered with task=" + shortened(r.task.name, 256) +
                            ": cluster '" + step_.spec.name + "' has " +
                            std::to_string(step_.spec.size()) + " tasks");
  roster_.seen(t, step_.now);
  if (r.recoverable) roster_.become_recoverable(t);
  if (started_ == time_point{}) {
    started_ = step_.now;
    step_.tell(
        severity::info, remark_kind::generation_started, {},
        "generation " + std::to_string(step_.which.number) + ", first task " + step_.task_name(t));
  }
  auto const& a = roster_[t];
  if (a.state == agent_state::connected) return reconnect(r);
  if (a.state == agent_state::error && !takes_back(t))
    return refuse_registration(
        r,
        " unexpectedly tried to connect while it is already in error. ResetTask() should be "
        "called before a subsequent connect attempt. Existing error: " +
            a.error->message);
  roster_.identify(t, r.incarnation, r.peer);
  if (!step_.spec.register_barrier) {
    connect(t, r.incarnation);
    return step_.answer(r.from.call, incarnation());
  }
  enter(r.from,
        {.id = step_.own.registration,
         .timeout = step_.spec.register_timeout,
         .task = t,
         .begins_again = a.recoverable,
         .purpose = barrier_purpose::registration},
        r.task, {}, r.incarnation);
}

bool service::takes_back(task_index t) const {
  auto const& a = roster_[t];
  return (a.recoverable || step_.spec.allow_reconnect) && a.error &&
         a.error->code == code::unavailable;
}

void service::reconnect(register_task const& r) {
  auto const t = r.task.index;
  auto const& a = roster_[t];
  if (a.incarnation != r.incarnation && !a.recoverable)
    return refuse_registration(r,
                               " unexpectedly tried to connect with a different incarnation. It "
                               "has likely restarted.");
  if (a.recoverable)
    leave_barriers(
        {{t, task_fault(t, code::aborted, step_.task_name(t) + " has registered again")}});
  if (a.incarnation != r.incarnation) {
    forget_asked(t);
    do_not_listen(t);
    roster_.replace(t, r.incarnation, step_.now);
    polls_.set_told(t, false);
    watches_.note_change(step_.now);
    step_.tell(severity::info, remark_kind::task_restarted, step_.task_name(t),
               "registered with a new incarnation");
  }
  roster_.identify(t, r.incarnation, r.peer);
  roster_.beat(t, step_.now);
  closed_.forget(t);
  step_.answer(r.from.call, incarnation());
}

void service::refuse_registration(register_task const& r, std::string why) {
  auto const t = r.task.index;
  auto const f = task_fault(t, code::aborted, step_.task_name(t) + why);
  step_.answer(r.from.call, f);
  fail_tasks({{t, f}}, f);
}

void service::connect(task_index t, core::incarnation i) {
  closed_.forget(t);
  if (roster_[t].ever_connected && roster_[t].incarnation != i) forget_asked(t);
  // Who comes back from an error lives on in a generation that has failed: that was before its
  // time.
  bool const came_back = roster_[t].state == agent_state::error;
  if (roster_[t].incarnation != i) do_not_listen(t);
  roster_.connect(t, i, step_.now);
  polls_.set_told(t, came_back && failures_.broadcast());
  if (!failures_.failed()) ended_ = {};
  watches_.note_change(step_.now);
}

void service::on(heartbeat& r) {
  if (r.task.index == no_task)
    return step_.refuse(r.from, code::invalid_argument,
                        "Unexpected heartbeat request from task: " + r.task.name +
                            ". This usually implies a configuration error.");
  auto const t = r.task.index;
  auto const& a = roster_[t];
  if (a.state == agent_state::error)
    return step_.refuse(r.from, code::aborted,
                        "Unexpected heartbeat request from an already-in-error task: " +
                            step_.task_name(t) + " with existing error: " + a.error->message);
  if (a.state == agent_state::disconnected) {
    if (step_.now > a.grace_until)
      return step_.refuse(r.from, code::invalid_argument,
                          step_.task_name(t) +
                              " must be registered before sending heartbeat messages. The service "
                              "might have restarted, or the task has disconnected earlier.");
    return step_.answer(r.from.call, incarnation());
  }
  if (a.incarnation == r.incarnation) {
    roster_.beat(t, step_.now);
    // Its connection may be another one since a break, or since the server began again.
    if (!r.from.peer.empty() && a.peer != r.from.peer)
      roster_.identify(t, r.incarnation, r.from.peer);
    check_hearing(t);
    // Whoever does not poll, or not any more, must hear of the failure all the same.
    if (auto const& told = failures_.broadcast(); told && !polls_.told(t))
      return step_.answer(r.from.call, heartbeat_fault(*told, without_poll(t)));
    return step_.answer(r.from.call, incarnation());
  }
  if (a.recoverable) return step_.answer(r.from.call, incarnation());
  auto const f = task_fault(t, code::aborted,
                            step_.task_name(t) + " Heartbeat: Incarnation ID mismatch: expecting " +
                                std::to_string(raw(a.incarnation)) + " but got " +
                                std::to_string(raw(r.incarnation)) + ". The task has restarted.");
  step_.answer(r.from.call, f);
  fail_tasks({{t, f}}, f);
}

// Looks at most ten times a second, so that a rack that dies is told of as one.
void service::check_heartbeats() {
  if (step_.now < next_check_) return;
  auto const timeout = step_.spec.heartbeat_timeout;
  auto silent = roster_.silent(step_.now - timeout);
  if (silent.empty()) return;
  next_check_ = step_.now + std::min<duration>(timeout / 10, std::chrono::milliseconds(100));
  std::sort(silent.begin(), silent.end());
  // Agents beat at half their timeout: who is this late had gone silent before anybody was told of
  // an error, and is no casualty.
  std::vector<task_index> overdue;
  if (!failures_.cause())
    for (auto const t : roster_.silent(step_.now - timeout / 5 * 3)) {
      failures_.add_victim(t);
      if (roster_[t].last_heartbeat + timeout > step_.now) overdue.push_back(t);
    }
  auto all = "The following tasks are unhealthy (stopped sending heartbeats):" +
             wording_.lines(silent, step_.now) +
             "\nThe tasks have crashed, or cannot reach the coordination service.";
  for (std::size_t i = 0; i < std::min<std::size_t>(overdue.size(), 8); ++i)
    all += (i ? ", " : "\nOverdue as well: ") + wording_.described(overdue[i], step_.now);
  fail_dead(silent,
            " heartbeat timeout. This indicates that the task has failed, was preempted, or lost "
            "its network.",
            all);
}

// Who dies at one moment is told of as one, as above.
void service::check_connections() {
  constexpr duration together = std::chrono::milliseconds(100);
  auto const grace = step_.spec.connection_grace;
  if (closed_.oldest() == never || closed_.oldest() + grace > step_.now) return;
  auto dead = closed_.take(step_.now - grace + std::min(together, grace));
  std::erase_if(dead, [&](task_index t) { return roster_[t].state != agent_state::connected; });
  if (dead.empty()) return;
  auto const since = wording::seconds(grace) + ". The process has crashed or was killed.";
  fail_dead(dead, ": its connection was closed, and nothing was heard of it for " + since,
            "The connections of the following tasks were closed:" +
                wording_.lines(dead, step_.now) + "\nNothing was heard of them for " + since);
}

void service::fail_dead(std::vector<task_index> const& dead, std::string const& how,
                        std::string const& told) {
  std::vector<task_error> errors;
  for (auto const t : dead)
    errors.push_back(
        {t, task_fault(t, code::unavailable, "Task " + wording_.described(t, step_.now) + how)});
  fail_tasks(errors, task_fault(dead.front(), code::unavailable, failures_.with_cause(told)));
}

// The first failure of a generation that counts is its cause; all later ones are casualties.
void service::blame(task_index t, std::string const& message) {
  if (t == no_task) return failures_.blame(t, {{}, {}, message, step_.now});
  if (!roster_[t].recoverable)
    failures_.blame(t, {step_.task_name(t), roster_[t].peer, message, step_.now});
}

// False: it had an error already.
bool service::mark_error(task_index t, fault_ptr const& f) {
  if (!roster_.fail(t, f, failures_.is_casualty(t))) return false;
  do_not_listen(t);
  watches_.note_change(step_.now);
  return true;
}

// Tasks fail at one moment. Everybody is told, once a generation, unless all of them may come and
// go. All are marked before any barrier breaks, and the root is told before what it breaks.
void service::fail_tasks(std::vector<task_error> const& errors, fault_ptr const& told) {
  std::vector<task_error> fresh;
  bool counts = errors.empty();
  for (auto const& e : errors) {
    counts = counts || !roster_[e.task].recoverable;
    blame(e.task, e.error->message);
    if (!mark_error(e.task, e.error)) continue;
    fresh.push_back(e);
    if (!roster_[e.task].casualty && fresh.size() <= errors_told)
      step_.tell(severity::error, remark_kind::task_error, step_.task_name(e.task),
                 e.error->message);
  }
  auto const fails = counts && !failures_.failed() && !step_.spec.recoverable;
  if (fails) {
    fail_generation(told);
    if (told_one_by_one()) broadcast(told);
  }
  leave_barriers(fresh);
  check_all_alive();
  if (fails && !told_one_by_one())
    fail_everybody(
        "All tasks were set to error because coordination service encountered an error, but was "
        "unable to inform clients. Error: " +
        told->message);
}

// One fault for all of them: ten thousand copies of a long text would be for nothing.
void service::fail_everybody(std::string const& message) {
  auto const f = task_fault(failures_.cause_task(), code::internal, message);
  std::vector<task_error> fresh;
  for (task_index t = 0; t < roster_.size(); ++t)
    if (mark_error(t, f)) fresh.push_back({t, f});
  leave_barriers(fresh);
  check_all_alive();
}

void service::fail_generation(fault_ptr const& f) {
  if (!failures_.fail()) return;
  ended_ = step_.now;
  step_.tell(severity::error, remark_kind::generation_failed, {},
             "generation " + std::to_string(step_.which.number) + ": " + f->message);
}

void service::broadcast(fault_ptr const& f) {
  if (!failures_.tell_everybody(f)) return;
  for (task_index t = 0; t < roster_.size(); ++t) {
    auto const call = polls_.take(t);
    if (call == call_id{}) continue;
    polls_.set_told(t, true);
    step_.calls.take(call);
    step_.answer(call, f);
  }
}

void service::on(report_error& r) {
  auto const t = r.task.index;
  if (t == no_task)
    return step_.refuse(r.from, code::invalid_argument,
                        "Unexpected request from task " + r.task.name + ": not in the cluster");
  if (roster_[t].state != agent_state::connected)
    return step_.refuse(r.from, code::failed_precondition,
                        "The task is not connected or already has an error.");
  auto const c = r.code == code::ok ? code::unknown : r.code;
  auto const f = task_fault(t, c, r.message, true);
  fail_tasks({{t, f}}, f);
  step_.answer(r.from.call, std::monostate{});
}

void service::on(poll_for_error& r) {
  if (!tells_by_heartbeat()) polls_.note_poller();
  auto const t = r.task.index;
  if (t == no_task)
    return step_.refuse(
        r.from, code::invalid_argument,
        "Unexpected task (" + r.task.name + ") that is not in the cluster polling for errors.");
  auto const& a = roster_[t];
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
  if (failures_.broadcast()) {
    polls_.set_told(t, true);
    return step_.answer(r.from.call, failures_.broadcast());
  }
  if (tells_by_heartbeat())  // agents take it for the end of polling, and live on
    return step_.refuse(r.from, code::cancelled, "Errors are told by heartbeat.");
  if (step_.refused_as_full(r.from)) return;
  cancel_poll(t, "there is a more recent poll of the same task.");
  polls_.add(t, r.from.call);
  closed_.forget(t);
  // No deadline: the poll must outlive everything; it ends with the caller, the task or the
  // service.
  step_.park({.call = r.from.call}, wait_kind::poll, t, 0);
}

void service::on(shutdown_task& r) {
  auto const t = r.task.index;
  if (t != no_task) do_not_listen(t);  // it takes its wait back as it leaves
  if (t != no_task && step_.spec.shutdown_timeout > duration::zero() && !roster_[t].recoverable)
    return enter_shutdown(r.from, t);
  leave(r.from, r.task);
}

void service::on(reset_task& r) {
  leave(r.from, r.task);
}

void service::leave(caller const& from, task_ref const& who) {
  auto const t = who.index;
  if (t == no_task)
    return step_.refuse(from, code::invalid_argument,
                        "Unexpected disconnect request with task=" + who.name);
  if (roster_[t].state == agent_state::disconnected)
    return step_.refuse(from, code::failed_precondition,
                        "The task is already disconnected: " + step_.task_name(t));
  disconnect({t});
  step_.answer(from.call, std::monostate{});
}

void service::disconnect(std::vector<task_index> const& leavers, bool quietly) {
  std::vector<task_error> left;
  for (auto const t : leavers) {
    if (!roster_.disconnect(t, step_.now + step_.spec.heartbeat_timeout)) continue;
    do_not_listen(t);
    left.push_back({t, nullptr});
    watches_.note_change(step_.now);
  }
  leave_barriers(left);
  check_all_alive();
  for (auto const& [t, f] : left) {
    cancel_poll(t, "task has disconnected.");
    if (!quietly) step_.tell(severity::info, remark_kind::task_left, step_.task_name(t), "left");
  }
  if (!left.empty() && all_left() && ended_ == time_point{}) {
    ended_ = step_.now;
    step_.tell(severity::info, remark_kind::generation_ended, {},
               "generation " + std::to_string(step_.which.number) + ": all tasks have left");
  }
}

// Everybody was there and nobody is any more.
bool service::all_left() const {
  if (roster_.size() == 0 || roster_.connected() + roster_.in_error() > 0 ||
      roster_.ever_connected() < roster_.size())
    return false;
  auto const* registration = barriers_.find(step_.own.registration);
  return !registration || registration->arrived_count == 0 || !registration->running;
}

void service::cancel_poll(task_index t, std::string_view why) {
  auto const call = polls_.take(t);
  if (call == call_id{}) return;
  step_.calls.take(call);
  step_.answer(
      call, task_fault(t, code::cancelled, "Cancelled error polling because: " + std::string(why)));
}

}  // namespace muster::core::coordination
