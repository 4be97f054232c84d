#include "server/core/coordination/transitions/barrier_faults.hpp"

namespace muster::core::coordination {
namespace {

std::string unknown_participant(barrier const& b, std::string const& unknown) {
  return "Unexpected task (" + shortened(unknown, 256) +
         ") that is not in the cluster called the barrier. Barrier Id: " +
         barrier_faults::shown(b.id);
}

}  // namespace

fault_ptr barrier_faults::unsatisfiable(barrier const& b, std::string const& unknown) const {
  if (!unknown.empty())
    return barrier_fault(b.instance(), code::invalid_argument, unknown_participant(b, unknown));
  if (registry_.in_error() == 0) return nullptr;
  for (auto const t : *b.who) {
    auto const& a = registry_[t];
    if (a.state != agent_state::error || a.recoverable) continue;
    auto const why =
        "Task (" + step_.task_name(t) +
        ") is already in error before the barrier was called. Barrier Id: " + shown(b.id) +
        ", Task: " + descriptions_.described(t, step_.now) + ", Error: " + a.error->message;
    return barrier_fault(b.instance(), code::internal, record_.failures().with_cause(why));
  }
  return nullptr;
}

fault_ptr barrier_faults::unfit(barrier const& b, arrival const& a, arrival_fit fit,
                                task_ref const& who, std::string const& unknown) const {
  auto const named = a.task == no_task ? shortened(who.name, 256) : step_.task_name(a.task);
  auto const fault_of = [&](std::string const& text) {
    return barrier_fault(b.instance(), code::invalid_argument, text);
  };
  if (fit == arrival_fit::miscounted)
    return miscounted(b, a, a.task == no_task ? named : descriptions_.described(a.task, step_.now));
  if (fit == arrival_fit::unknown_participant) return fault_of(unknown_participant(b, unknown));
  if (fit == arrival_fit::no_participant)
    return fault_of("A non-participating task (" + named + ") called the barrier: " + shown(b.id));
  return fault_of(
      "Conflicting tasks specified by different processes for the same barrier. Barrier Id: " +
      shown(b.id) + ", Task: " + named + ": expected " + std::to_string(b.who->size()) +
      " participants, got " +
      std::to_string(a.who ? a.who->size() : barriers_.everybody()->size()));
}

// A different counter means that the task or the service has restarted, or that the task is ahead.
// The instance cannot pass.
fault_ptr barrier_faults::miscounted(barrier const& b, arrival const& a,
                                     std::string const& who) const {
  auto const why = a.counter == 0
                       ? "This is the task's first use of the barrier: it has likely restarted, or "
                         "it is way too slow."
                       : "The task is way too quick or way too slow: it does not call the barrier "
                         "as often as the others.";
  return barrier_fault(b.instance(), code::internal,
                       "Barrier (" + shown(b.id) + "::" + std::to_string(a.counter) +
                           ") is invoked by the task " + who +
                           ", but the service thinks it is the " + std::to_string(b.counter) +
                           "-th instance (from 0). " + why);
}

fault_ptr barrier_faults::timed_out(barrier const& b) {
  auto const first = b.first == no_task ? std::string("none") : step_.task_name(b.first);
  auto const head = "Barrier timed out. Id: " + shown(b.id) + "::" + std::to_string(b.counter) +
                    ". This usually happens because a task triggered the barrier too early or too "
                    "slowly, or is gone. # of tasks that reached the barrier: " +
                    std::to_string(b.arrived_count) + "/" + std::to_string(b.who->size()) +
                    ".\nThe first task at the barrier: " + first + ". ";
  return barrier_fault(b.instance(), code::deadline_exceeded,
                       record_.failures().with_cause(head + missing(b)));
}

fault_ptr barrier_faults::broken_by(barrier const& b, task_error const& leaver) const {
  auto const text = "Barrier failed because: " + leaver.why(step_.task_name(leaver.task)) +
                    " Barrier Id: " + shown(b.id) +
                    ", Task: " + descriptions_.described(leaver.task, step_.now);
  return barrier_fault(b.instance(), code::internal, record_.failures().with_cause(text));
}

fault_ptr barrier_faults::shutdown_failed(fault_ptr const& result) const {
  auto const& failures = record_.failures();
  return task_fault(failures.cause_task(), code::internal,
                    failures.with_cause("Shutdown barrier has failed.\nBarrier result: '" +
                                        result->message + "'"));
}

std::string barrier_faults::early(barrier const& b, std::string const& waited) {
  auto const count =
      std::to_string(b.arrived_count + b.gave_up_count) + " of " + std::to_string(b.who->size());
  auto const rest = waited + ". " + missing(b);
  if (b.purpose == barrier_purpose::registration) return count + " tasks have registered" + rest;
  if (b.purpose == barrier_purpose::shutdown)
    return "Shutdown: " + count + " tasks have reached the shutdown barrier" + rest;
  return "Barrier " + shown(b.id) + ": " + count + " tasks have arrived" + rest;
}

std::string barrier_faults::missing_task_message(barrier const& b, task_index t) const {
  return descriptions_.described(t, step_.now) + " never arrived at barrier " + shown(b.id);
}

std::string const& barrier_faults::missing(barrier const& b) {
  if (b.missing_stale || step_.now - b.missing_at >= std::chrono::seconds(1))
    barriers_.keep_missing(b.number, descriptions_.missing_at(b, step_.now), step_.now);
  return b.missing;
}

}  // namespace muster::core::coordination
