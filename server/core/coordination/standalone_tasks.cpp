// Registration, heartbeats, leaving.
#include <algorithm>

#include "server/core/coordination/standalone_service.hpp"

namespace muster::core::coordination {

void standalone_service::on(register_task& r) {
  if (r.task.index == no_task)
    return refuse(r.from, code::invalid_argument,
                  "Unexpected task registered with task=" + shortened(r.task.name, 256) +
                      ": cluster '" + spec_.name + "' has " + std::to_string(spec_.size()) +
                      " tasks");
  auto& a = roll_[r.task.index];
  a.last_seen = now_;
  a.recoverable = a.recoverable || r.recoverable;
  if (started_ == time_point{}) {
    started_ = now_;
    tell(severity::info, "generation_started", {},
         "generation " + std::to_string(generation_.number) + ", first task " +
             task_name(r.task.index));
  }
  if (a.state == agent_state::connected) return reconnect(r);
  if (a.state == agent_state::error && !takes_back(r.task.index))
    return refuse_registration(
        r,
        " unexpectedly tried to connect while it is already in error. ResetTask() should be "
        "called before a subsequent connect attempt. Existing error: " +
            a.error->message);
  roll_.identify(r.task.index, r.incarnation, r.peer);
  if (!spec_.register_barrier) {
    connect(r.task.index, r.incarnation);
    return answer(r.from.call, incarnation());
  }
  static std::string const id = registration_id;
  enter({.from = r.from,
         .id = &id,
         .counter = 0,
         .timeout = spec_.register_timeout,
         .task = r.task.index,
         .task_name = {},
         .who = nullptr,
         .stranger = {},
         .purpose = barrier_purpose::registration,
         .incarnation = r.incarnation});
}

bool standalone_service::takes_back(task_index task) const {
  auto const& a = roll_[task];
  return (recoverable(task) || spec_.allow_reconnect) && a.error &&
         a.error->code == code::unavailable;
}

void standalone_service::reconnect(register_task const& r) {
  auto const t = r.task.index;
  auto& a = roll_[t];
  if (a.incarnation != r.incarnation && !recoverable(t))
    return refuse_registration(r,
                               " unexpectedly tried to connect with a different incarnation. It "
                               "has likely restarted.");
  if (recoverable(t))
    leave_barriers({{t, about(t, code::aborted, task_name(t) + " has registered again")}});
  if (a.incarnation != r.incarnation) {
    forget_asked(t);
    a.incarnation = r.incarnation;
    a.told = false;
    a.registered_at = now_;
    changed();
    tell(severity::info, "task_restarted", task_name(t), "registered with a new incarnation");
  }
  roll_.identify(t, r.incarnation, r.peer);
  roll_.beat(t, now_);
  answer(r.from.call, incarnation());
}

void standalone_service::refuse_registration(register_task const& r, std::string why) {
  auto const t = r.task.index;
  auto const f = about(t, code::aborted, task_name(t) + why);
  answer(r.from.call, f);
  fail_tasks({{t, f}}, f);
}

void standalone_service::connect(task_index t, core::incarnation incarnation) {
  auto& a = roll_[t];
  if (a.state == agent_state::connected) roll_.stop_beating(t);
  if (a.state != agent_state::connected) ++connected_;
  if (a.state == agent_state::error) --in_error_;
  if (a.ever_connected && a.incarnation != incarnation) forget_asked(t);
  a.state = agent_state::connected;
  a.incarnation = incarnation;
  a.registering = {};
  a.error = nullptr;
  a.casualty = false;
  a.told = false;
  if (!a.ever_connected) ++ever_connected_;
  a.ever_connected = true;
  a.registered_at = now_;
  if (!failed_) ended_ = {};
  roll_.start_beating(t, now_);
  changed();
}

void standalone_service::on(heartbeat& r) {
  if (r.task.index == no_task)
    return refuse(r.from, code::invalid_argument,
                  "Unexpected heartbeat request from task: " + r.task.name +
                      ". This usually implies a configuration error.");
  auto const t = r.task.index;
  auto const& a = roll_[t];
  if (a.state == agent_state::error)
    return refuse(r.from, code::aborted,
                  "Unexpected heartbeat request from an already-in-error task: " + task_name(t) +
                      " with existing error: " + a.error->message);
  if (a.state == agent_state::disconnected) {
    if (now_ > a.grace_until)
      return refuse(r.from, code::invalid_argument,
                    task_name(t) +
                        " must be registered before sending heartbeat messages. The service "
                        "might have restarted, or the task has disconnected earlier.");
    return answer(r.from.call, incarnation());
  }
  if (a.incarnation == r.incarnation) {
    roll_.beat(t, now_);
    // Whoever does not poll, or not any more, must hear of the failure all the same.
    if (broadcast_ && !a.told)
      return refuse(r.from, code::aborted,
                    "The cluster has failed, and " + task_name(t) +
                        " does not poll for errors. Error: " + broadcast_->message);
    return answer(r.from.call, incarnation());
  }
  if (recoverable(t)) return answer(r.from.call, incarnation());
  auto const f = about(t, code::aborted,
                       task_name(t) + " Heartbeat: Incarnation ID mismatch: expecting " +
                           std::to_string(raw(a.incarnation)) + " but got " +
                           std::to_string(raw(r.incarnation)) + ". The task has restarted.");
  answer(r.from.call, f);
  fail_tasks({{t, f}}, f);
}

// Looks at most ten times a second, so that a rack that dies is told of as one.
void standalone_service::check_heartbeats() {
  if (now_ < next_check_) return;
  std::vector<task_index> silent;
  for (auto const t : roll_.beating()) {
    if (roll_[t].last_heartbeat + spec_.heartbeat_timeout > now_) break;
    silent.push_back(t);
  }
  if (silent.empty()) return;
  next_check_ =
      now_ + std::min<duration>(spec_.heartbeat_timeout / 10, std::chrono::milliseconds(100));
  std::sort(silent.begin(), silent.end());
  // Agents beat at half their timeout: who is this late had gone silent before anybody was told of
  // an error, and is no casualty.
  std::vector<task_index> overdue;
  if (!cause_)
    for (auto const t : roll_.beating()) {
      if (roll_[t].last_heartbeat + spec_.heartbeat_timeout / 5 * 3 > now_) break;
      victims_.insert(t);
      if (roll_[t].last_heartbeat + spec_.heartbeat_timeout > now_) overdue.push_back(t);
    }
  std::vector<task_error> errors;
  std::string all = "The following tasks are unhealthy (stopped sending heartbeats):";
  for (std::size_t i = 0; i < silent.size(); ++i) {
    if (i < 20) all += "\n" + described(silent[i]);
    if (i == 20) all += "\nand " + std::to_string(silent.size() - i) + " more";
    errors.push_back({silent[i], about(silent[i], code::unavailable,
                                       "Task " + described(silent[i]) +
                                           " heartbeat timeout. This indicates that the task has "
                                           "failed, was preempted, or lost its network.")});
  }
  all += "\nThe tasks have crashed, or cannot reach the coordination service.";
  for (std::size_t i = 0; i < std::min<std::size_t>(overdue.size(), 8); ++i)
    all += (i ? ", " : "\nOverdue as well: ") + described(overdue[i]);
  fail_tasks(errors, about(silent.front(), code::unavailable, with_cause(all)));
}

void standalone_service::on(shutdown_task& r) {
  if (r.task.index == no_task)
    return refuse(r.from, code::invalid_argument,
                  "Unexpected disconnect request with task=" + r.task.name);
  if (spec_.shutdown_timeout > duration::zero() && !recoverable(r.task.index))
    return enter_shutdown(r.from, r.task.index);
  leave(r.from, r.task.index);
}

void standalone_service::on(reset_task& r) {
  if (r.task.index == no_task)
    return refuse(r.from, code::invalid_argument,
                  "Unexpected disconnect request with task=" + r.task.name);
  leave(r.from, r.task.index);
}

void standalone_service::leave(caller const& from, task_index t) {
  if (roll_[t].state == agent_state::disconnected)
    return refuse(from, code::failed_precondition,
                  "The task is already disconnected: " + task_name(t));
  disconnect({t});
  answer(from.call, std::monostate{});
}

void standalone_service::disconnect(std::vector<task_index> const& leavers, bool quietly) {
  std::vector<task_error> left;
  for (auto const t : leavers) {
    auto& a = roll_[t];
    if (a.state == agent_state::disconnected) continue;
    if (a.state == agent_state::connected) {
      roll_.stop_beating(t);
      --connected_;
    } else {
      --in_error_;
    }
    a.state = agent_state::disconnected;
    a.error = nullptr;
    a.casualty = false;
    a.grace_until = now_ + spec_.heartbeat_timeout;
    left.push_back({t, nullptr});
    changed();
  }
  leave_barriers(left);
  check_all_alive();
  for (auto const& [t, f] : left) {
    cancel_poll(t, "task has disconnected.");
    if (!quietly) tell(severity::info, "task_left", task_name(t), "left");
  }
  if (!left.empty() && all_left() && ended_ == time_point{}) {
    ended_ = now_;
    tell(severity::info, "generation_ended", {},
         "generation " + std::to_string(generation_.number) + ": all tasks have left");
  }
}

// Everybody was there and nobody is any more.
bool standalone_service::all_left() const {
  if (roll_.size() == 0 || connected_ + in_error_ > 0 || ever_connected_ < roll_.size())
    return false;
  auto const* registration = barriers_.find(registration_id);
  return !registration || registration->arrived_count == 0 || !registration->running;
}

void standalone_service::cancel_poll(task_index t, std::string_view why) {
  auto const call = roll_[t].poll;
  if (call == call_id{}) return;
  roll_[t].poll = {};
  parked_.take(call);
  answer(call, about(t, code::cancelled, "Cancelled error polling because: " + std::string(why)));
}

}  // namespace muster::core::coordination
