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
  record_.begin(t);
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
    queries_.forget_asked(t);
    notices_.forget(t);
    roster_.replace(t, r.incarnation, step_.now);
    polls_.join(t, false);
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
  if (roster_[t].ever_connected && roster_[t].incarnation != i) queries_.forget_asked(t);
  // Who comes back from an error lives on in a generation that has failed: that was before its
  // time.
  bool const came_back = roster_[t].state == agent_state::error;
  if (roster_[t].incarnation != i) notices_.forget(t);
  roster_.connect(t, i, step_.now);
  polls_.join(t, came_back);
  record_.go_on();
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
    notices_.check_hearing(t);
    // Whoever does not poll, or not any more, must hear of the failure all the same.
    if (auto f = polls_.unheard(t)) return step_.answer(r.from.call, std::move(f));
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
  if (!record_.failures().cause())
    for (auto const t : roster_.silent(step_.now - timeout / 5 * 3)) {
      record_.add_victim(t);
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
  fail_tasks(errors,
             task_fault(dead.front(), code::unavailable, record_.failures().with_cause(told)));
}

// False: it had an error already.
bool service::mark_error(task_index t, fault_ptr const& f) {
  if (!roster_.fail(t, f, record_.failures().is_casualty(t))) return false;
  notices_.forget(t);
  return true;
}

// Tasks fail at one moment. Everybody is told, once a generation, unless all of them may come and
// go. All are marked before any barrier breaks, and the root is told before what it breaks.
void service::fail_tasks(std::vector<task_error> const& errors, fault_ptr const& told) {
  std::vector<task_error> fresh;
  bool counts = errors.empty();
  for (auto const& e : errors) {
    counts = counts || !roster_[e.task].recoverable;
    record_.blame(e.task, e.error->message);
    if (!mark_error(e.task, e.error)) continue;
    fresh.push_back(e);
    if (!roster_[e.task].casualty && fresh.size() <= errors_told)
      step_.tell(severity::error, remark_kind::task_error, step_.task_name(e.task),
                 e.error->message);
  }
  auto const fails = counts && !record_.failures().failed() && !step_.spec.recoverable;
  if (fails) {
    record_.fail(told);
    if (polls_.told_one_by_one()) polls_.broadcast(told);
  }
  leave_barriers(fresh);
  queries_.check_alive();
  if (fails && !polls_.told_one_by_one())
    fail_everybody(
        "All tasks were set to error because coordination service encountered an error, but was "
        "unable to inform clients. Error: " +
        told->message);
}

// One fault for all of them: ten thousand copies of a long text would be for nothing.
void service::fail_everybody(std::string const& message) {
  auto const f = task_fault(record_.failures().cause_task(), code::internal, message);
  std::vector<task_error> fresh;
  for (task_index t = 0; t < roster_.size(); ++t)
    if (mark_error(t, f)) fresh.push_back({t, f});
  leave_barriers(fresh);
  queries_.check_alive();
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

void service::on(shutdown_task& r) {
  auto const t = r.task.index;
  if (t != no_task) notices_.forget(t);  // it takes its wait back as it leaves
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
    notices_.forget(t);
    left.push_back({t, nullptr});
  }
  leave_barriers(left);
  queries_.check_alive();
  for (auto const& [t, f] : left) {
    polls_.cancel(t, "task has disconnected.");
    if (!quietly) step_.tell(severity::info, remark_kind::task_left, step_.task_name(t), "left");
  }
  if (!left.empty()) record_.end_if_all_left();
}

}  // namespace muster::core::coordination
