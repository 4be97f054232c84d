#include "server/core/coordination/transitions/failure_detector.hpp"

namespace muster::core::coordination {
namespace {

// failures within this time are reported together
constexpr duration together = std::chrono::milliseconds(100);

}  // namespace

void failure_detector::on(report_error& r) {
  auto const t = r.task.index;
  if (t == no_task)
    return step_.refuse(r.from, code::invalid_argument,
                        "Unexpected request from task " + r.task.name + ": not in the cluster");
  if (registry_[t].state != agent_state::connected)
    return step_.refuse(r.from, code::failed_precondition,
                        "The task is not connected or already has an error.");
  auto const c = r.code == code::ok ? code::unknown : r.code;
  propagation_.fail(t, task_fault(t, c, r.message, true), failed_why::reported);
  step_.answer(r.from.call, std::monostate{});
}

void failure_detector::heard(task_index t, bool other_process) {
  registry_.seen(t, step_.now);
  if (!other_process && registry_[t].state == agent_state::connected)
    registry_.keep_alive(t, step_.now);
  closed_.heard(t, step_.now);
}

void failure_detector::connection_closed(task_index t) {
  if (step_.spec.connection_grace > duration::zero() &&
      registry_[t].state == agent_state::connected)
    closed_.note(t, step_.now);
}

// Messages sent during the stall can still be in transit, so the timeout of each task is extended
// by the time of one heartbeat.
void failure_detector::forgive(duration lost) {
  registry_.forgive(lost, step_.spec.heartbeat_timeout / 2, step_.now);
  closed_.begin_again(step_.now);
}

time_point failure_detector::due() const {
  auto next = never;
  if (closed_.oldest() != never) next = closed_.oldest() + step_.spec.connection_grace;
  if (registry_.connected() > 0) {
    auto const oldest = registry_.oldest_sign_of_life() + step_.spec.heartbeat_timeout;
    next = std::min(next, std::max(oldest, next_check_));
  }
  return next;
}

// Limits checks to ten per second, so that all tasks of a failed rack are reported together.
void failure_detector::check_heartbeats() {
  if (step_.now < next_check_) return;
  auto const timeout = step_.spec.heartbeat_timeout;
  auto silent = registry_.silent(step_.now - timeout);
  if (silent.empty()) return;
  next_check_ = step_.now + std::min<duration>(timeout / 10, together);
  std::sort(silent.begin(), silent.end());
  // Agents send heartbeats twice per timeout. A task whose heartbeat is this late failed before any
  // error was delivered, so it is not a casualty.
  std::vector<task_index> overdue;
  if (!record_.failures().cause())
    for (auto const t : registry_.silent(step_.now - timeout / 5 * 3)) {
      record_.add_victim(t);
      if (registry_[t].alive_at + timeout > step_.now) overdue.push_back(t);
    }
  auto all = "The following tasks are unhealthy (stopped sending heartbeats):" +
             descriptions_.lines(silent, step_.now) +
             "\nThe tasks have crashed, or cannot reach the coordination service.";
  for (std::size_t i = 0; i < std::min<std::size_t>(overdue.size(), 8); ++i)
    all += (i ? ", " : "\nAlso overdue: ") + descriptions_.described(overdue[i], step_.now);
  all += "\n" + descriptions_.heartbeats(silent.front());
  fail(
      silent, failed_why::silent,
      [this](task_index t) {
        return " heartbeat timeout. This indicates that the task has failed, was preempted, or "
               "lost its network. " +
               descriptions_.heartbeats(t);
      },
      all);
}

void failure_detector::check_connections() {
  auto const grace = step_.spec.connection_grace;
  if (closed_.oldest() == never || closed_.oldest() + grace > step_.now) return;
  auto dead = closed_.take(step_.now - grace + std::min(together, grace));
  std::erase_if(dead, [&](task_index t) { return registry_[t].state != agent_state::connected; });
  if (dead.empty()) return;
  auto const since = task_descriptions::seconds(grace) + ". The process has crashed or was killed.";
  fail(
      dead, failed_why::connection_closed,
      [&](task_index) {
        return ": its connection was closed, and it has sent nothing for " + since;
      },
      "The connections of the following tasks were closed:" + descriptions_.lines(dead, step_.now) +
          "\nThey have sent nothing for " + since);
}

void failure_detector::fail(std::vector<task_index> const& dead, failed_why why,
                            std::function<std::string(task_index)> const& how,
                            std::string const& told) {
  std::vector<task_error> errors;
  for (auto const t : dead)
    errors.push_back({t, task_fault(t, code::unavailable,
                                    "Task " + descriptions_.described(t, step_.now) + how(t))});
  propagation_.fail(
      errors, task_fault(dead.front(), code::unavailable, record_.failures().with_cause(told)),
      why);
}

}  // namespace muster::core::coordination
