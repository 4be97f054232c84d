#include "server/core/coordination/transitions/generation_record.hpp"

namespace muster::core::coordination {

void generation_record::begin(task_index t) {
  if (started_ != time_point{}) return;
  started_ = step_.now;
  append_record(generation_why::first_registration);
  step_.report_incident(incidents::generation_started{step_.which.number, step_.task_name(t)});
}

bool generation_record::blame(task_index t, std::string const& message) {
  if (t != no_task && registry_[t].recoverable) return false;
  first_cause cause{{}, {}, message, step_.now};
  if (t != no_task) cause.task = step_.task_name(t), cause.peer = registry_[t].peer;
  if (failures_.blame(t, std::move(cause))) step_.changes.note(cause_found{*failures_.cause(), t});
  return true;
}

void generation_record::fail(fault_ptr const& f, generation_why why) {
  if (!failures_.fail()) return;
  end(why, step_.now);
  step_.report_incident(incidents::generation_failed{step_.which.number, f});
}

void generation_record::end_if_all_left() {
  if (!all_left() || ended_ != time_point{}) return;
  end(generation_why::all_left, step_.now);
  step_.report_incident(incidents::generation_ended{step_.which.number});
}

// Returns whether all tasks have left. Also returns false while a task is registering.
bool generation_record::all_left() const {
  if (registry_.size() == 0 || registry_.connected() + registry_.in_error() > 0 ||
      registry_.ever_connected() < registry_.size())
    return false;
  auto const* registration = barriers_.find(step_.own.registration);
  return !registration || registration->arrived_count == 0 || !registration->running;
}

generation_state generation_record::state() const {
  if (failures_.failed()) return generation_state::failed;
  if (all_left()) return generation_state::finished;
  auto const* registration = barriers_.find(step_.own.registration);
  if (registry_.connected() > 0 && !(registration && registration->running))
    return generation_state::running;
  return started_ == time_point{} ? generation_state::waiting : generation_state::registering;
}

void generation_record::describe(generation_view& v) const {
  v.number = step_.which.number;
  v.incarnation = step_.which.incarnation;
  v.state = state();
  v.started = started_;
  v.ended = ended_;
  v.cause = failures_.cause();
}

cluster_fact generation_record::facts() const {
  cluster_fact f;
  f.generation = step_.which.number;
  f.incarnation = step_.which.incarnation;
  f.started = started_;
  f.ended = ended_;
  f.failed = failures_.failed();
  f.refuses = refuses_;
  f.cause = failures_.cause();
  f.cause_task = failures_.cause_task();
  f.victims.assign(failures_.victims().begin(), failures_.victims().end());
  f.broadcast = failures_.broadcast();
  return f;
}

void generation_record::restore(cluster_fact const& f) {
  started_ = f.started;
  ended_ = f.ended;
  refuses_ = f.refuses;
  if (f.cause) failures_.blame(f.cause_task, *f.cause);
  for (auto const t : f.victims) failures_.add_victim(t);
  if (f.failed) failures_.fail();
  if (f.broadcast) failures_.set_broadcast(f.broadcast);
  write_state(step_.changes);
}

void generation_record::write_state(change_log const& log) const {
  log.note(
      generation_changed{started_, ended_, failures_.failed(), refuses_, generation_why::known});
  if (auto const& cause = failures_.cause()) log.note(cause_found{*cause, failures_.cause_task()});
  for (auto const t : failures_.victims()) log.note(victim_found{t});
  if (failures_.broadcast()) log.note(error_delivered{failures_.broadcast()});
}

}  // namespace muster::core::coordination
