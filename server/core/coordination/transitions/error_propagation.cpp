#include "server/core/coordination/transitions/error_propagation.hpp"

namespace muster::core::coordination {

// Marks all tasks before any barrier ends, and delivers the cause before its consequences.
void error_propagation::fail(std::vector<task_error> const& errors, fault_ptr const& told,
                             failed_why why) {
  auto const& failures = record_.failures();
  std::vector<task_error> fresh;
  bool counts = false;
  for (auto const& e : errors) {
    counts = record_.blame(e.task, e.error->message) || counts;
    if (!members_.fail(e.task, e.error, why)) continue;
    fresh.push_back(e);
    if (!failures.is_casualty(e.task))
      step_.report_incident(incidents::task_failed{step_.task_name(e.task), e.error});
  }
  auto const fails = counts && !failures.failed() && !step_.spec.recoverable;
  if (fails) {
    record_.fail(told, generation_why::task_failed);
    if (polls_.told_one_by_one()) polls_.broadcast(told);
  }
  part(fresh);
  if (fails && !polls_.told_one_by_one())
    fail_all_tasks(
        "All tasks were set to error because coordination service encountered an error, but was "
        "unable to inform clients. Error: " +
            told->message,
        failed_why::generation_failed);
}

void error_propagation::announce_external_failure(fault_ptr const& f, bool refuses) {
  record_.blame(no_task, f->message);
  if (refuses) record_.refuse();
  record_.fail(f, generation_why::given_up);
  polls_.broadcast(f);
}

void error_propagation::finish_external_failure(fault_ptr const& f) {
  for (auto const n : callers_.running()) {
    auto const b = callers_.running(n);
    if (!b) continue;
    // With most other codes, agents would repeat the registration and start a new run.
    auto const c = b->id == step_.own.registration ? code::failed_precondition : f->code;
    end_barrier(n, {barrier_outcome::given_up, barrier_fault(*b, c, f->message)});
  }
  if (!polls_.told_one_by_one()) fail_all_tasks(f->message, failed_why::given_up);
}

// Shares one fault among all tasks, because its text can be long.
void error_propagation::fail_all_tasks(std::string const& message, failed_why why) {
  auto const f = task_fault(record_.failures().cause_task(), code::internal, message);
  std::vector<task_error> fresh;
  for (task_index t = 0, tasks = step_.spec.size(); t < tasks; ++t)
    if (members_.fail(t, f, why)) fresh.push_back({t, f});
  part(fresh);
}

void error_propagation::leave(std::vector<task_index> const& tasks, left_why why) {
  std::vector<task_error> left;
  for (auto const t : tasks)
    if (members_.leave(t, step_.now + step_.spec.heartbeat_timeout, why))
      left.push_back({t, nullptr});
  part(left);
  for (auto const& l : left) {
    polls_.cancel(l.task, "task has disconnected.");
    if (why != left_why::shut_down)
      step_.report_incident(incidents::task_left{step_.task_name(l.task)});
  }
  if (!left.empty()) record_.end_if_all_left();
}

void error_propagation::part(std::vector<task_error> const& gone) {
  leave_barriers(gone);
  queries_.check_alive();
}

// The end of one barrier can end barriers that the loop has not visited.
void error_propagation::leave_barriers(std::vector<task_error> const& gone) {
  auto const running = gone.empty() ? std::vector<barrier_number>() : callers_.running();
  if (running.empty()) return;
  leavers const who(gone, step_.spec.size());
  for (auto const n : running)
    if (auto v = callers_.leave(n, who); v.fault) end_barrier(n, std::move(v));
}

barrier_end error_propagation::end_barrier(barrier_number n, barrier_verdict v) {
  auto e = callers_.end(n, std::move(v));
  handle_barrier_end(e);
  // Other barriers may have ended, and this barrier may already be removed.
  callers_.answer(e);
  return e;
}

void error_propagation::handle_barrier_end(barrier_end const& e) {
  if (e.purpose == barrier_purpose::registration) return registration_ended(e);
  if (e.purpose != barrier_purpose::shutdown) return;
  if (!e.result) return leave(*e.who, left_why::shut_down);
  shutdown_failed(callers_.told(e));
}

void error_propagation::registration_ended(barrier_end const& e) {
  if (!e.result) {
    for (auto const& w : e.waiters) members_.join(w.task, step_.now);
    return step_.report_incident(incidents::cluster_ready{e.who->size()});
  }
  record_.blame(no_task, e.result->message);
  record_.fail(e.result, generation_why::registration_failed);
  fail_all_tasks("Cluster registration failed with error: " + e.result->message,
                 failed_why::registration_failed);
}

void error_propagation::shutdown_failed(fault_ptr const& f) {
  record_.blame(no_task, f->message);
  if (!step_.spec.recoverable) record_.fail(f, generation_why::shutdown_failed);
  if (polls_.polled() && record_.failures().failed()) polls_.broadcast(f);
  fail_all_tasks(f->message, failed_why::shutdown_failed);
}

}  // namespace muster::core::coordination
