#include "server/core/coordination/transitions/barrier_service.hpp"

namespace muster::core::coordination {
namespace {

barrier_outcome outcome_of(arrival_fit fit) {
  switch (fit) {
    case arrival_fit::unknown_participant:
      return barrier_outcome::unknown_participant;
    case arrival_fit::other_participants:
      return barrier_outcome::other_participants;
    case arrival_fit::no_participant:
      return barrier_outcome::no_participant;
    case arrival_fit::miscounted:
    case arrival_fit::fits:
      break;
  }
  return barrier_outcome::miscounted;
}

}  // namespace

void barrier_service::on(enter_barrier& r) {
  if (step_.own.contain(r.id))
    return step_.refuse(r.from, code::invalid_argument,
                        "barrier_id: " + r.id + " is reserved for the coordination service");
  arrival a{.id = r.id,
            .counter = r.counter,
            .timeout = r.timeout,
            .task = r.task.index,
            .visits = r.visits};
  std::string unknown;
  if (!r.participants.empty()) {
    auto const it = std::find_if(r.participants.begin(), r.participants.end(), [](auto const& p) {
      return p.index == no_task && !p.name.empty();
    });
    if (it != r.participants.end()) unknown = it->name;
    auto who = std::make_shared<participants>(indices_of(r.participants));
    a.with_unknown = !unknown.empty();
    if (who->size() < registry_.size() || a.with_unknown) a.who = std::move(who);
  }
  enter(r.from, std::move(a), r.task, unknown);
}

void barrier_service::on(wait_for_all_tasks& r) {
  auto const t = r.task.index;
  if (t == no_task)
    return step_.refuse(r.from, code::invalid_argument,
                        "Unexpected task (" + r.task.name + ") that is not in the cluster");
  if (auto f = callers_.bring(r)) return step_.answer(r.from.call, std::move(f));
  enter(r.from,
        {.id = step_.own.devices,
         .timeout = std::chrono::hours(1),
         .task = t,
         .purpose = barrier_purpose::devices},
        r.task);
}

bool barrier_service::enter(caller const& from, arrival a, task_ref const& who,
                            std::string const& unknown, core::incarnation i) {
  auto const refuse = [&](code c, std::string_view why) {
    return step_.refuse(from, c, why), false;
  };
  // These errors contain no barrier instance, so that the caller does not continue counting from
  // them.
  if (a.timeout < duration::zero())
    return refuse(code::invalid_argument, "barrier_timeout_in_ms: must not be negative");
  if (auto const most = step_.limits.barrier_id_bytes_max; a.id.size() > most)
    return refuse(code::invalid_argument, longer_than("barrier_id", a.id.size(), most));
  auto const* known = barriers_.find(a.id);
  if (step_.full() || (!(known && known->running) && barriers_.full()))
    return refuse(code::resource_exhausted,
                  "the cluster has reached its limit on waiting calls or barriers");
  // A recoverable task that has restarted counts from 0 again.
  a.begins_again =
      a.visits || (a.task != no_task && registry_[a.task].recoverable && a.counter == 0);
  auto const [n, opened] = barriers_.instance_for(a, known, step_.now);
  auto const& b = barriers_.at(n);
  if (auto f = opened ? faults_.unsatisfiable(b, unknown) : nullptr) {
    auto const how =
        unknown.empty() ? barrier_outcome::in_error_before : barrier_outcome::unknown_participant;
    callers_.answer(propagation_.end_barrier(n, {how, std::move(f), a.task}), from.call);
    return false;
  }
  if (b.running && a.task != no_task && b.has(a.task) && b.call_of(a.task) != call_id{})
    callers_.supersede(b, a.task);
  if (auto const fit = barriers_.fit(n, a); fit != arrival_fit::fits) {
    auto const f = faults_.unfit(b, a, fit, who, unknown);
    step_.answer(from.call, f);
    if (b.running && a.visits)
      barriers_.undo_if_void(n, step_.now);
    else if (b.running)
      propagation_.end_barrier(n, {outcome_of(fit), f, a.task});
    return false;
  }
  if (!b.running) {
    if (b.purpose == barrier_purpose::registration && !b.result) return true;
    callers_.answer({b.instance(), b.purpose, b.result, b.who, {}}, from.call);
  } else if (callers_.wait(b, from, a, i)) {
    propagation_.end_barrier(n, {});
  }
  return false;
}

void barrier_service::first_due() {
  auto const n = barriers_.first_due();
  auto const& b = barriers_.at(n);
  if (b.purpose == barrier_purpose::registration && b.arrived_count == 0)
    return barriers_.stop_clock(n);
  if (b.deadline > step_.now) {
    if (!barriers_.remind(n, step_.now)) return;
    return step_.report_incident(
        incidents::barrier_stuck{b.id, b.arrived_count, b.who->size(), faults_.missing(b)});
  }
  auto f = faults_.timed_out(b);
  if (b.purpose != barrier_purpose::user) callers_.blame_missing(b);
  propagation_.end_barrier(n, {barrier_outcome::timed_out, std::move(f)});
}

void barrier_service::on(cancel_barrier& r) {
  auto const* b = barriers_.find(r.id);
  auto const id = faults_.shown(r.id);
  if (!b && !r.counter)
    return step_.refuse(r.from, code::not_found, "there is no barrier '" + id + "'");
  auto const end = [&](code c, std::string const& text) {
    return barrier_fault(b->instance(), c, text);
  };
  if (!b) {
    if (r.id.size() > step_.limits.barrier_id_bytes_max || *r.counter != 0 ||
        step_.own.contain(r.id))
      return step_.refuse(r.from, code::failed_precondition,
                          "Barrier " + id + " has not been called");
    b = barriers_.find(barriers_.instance_for({.id = r.id}, step_.now).number);
  } else if (r.counter && *r.counter != b->counter) {
    return step_.answer(r.from.call, end(code::failed_precondition,
                                         "Cancel request for barrier " + id + " is for instance " +
                                             std::to_string(*r.counter) + ", the current one is " +
                                             std::to_string(b->counter)));
  } else if (!b->running) {
    auto const result = b->result ? std::string(name(b->result->code)) : "OK";
    return step_.answer(
        r.from.call,
        end(code::failed_precondition,
            "Barrier (" + id + ") has already been passed with status code: " + result));
  }
  propagation_.end_barrier(
      b->number,
      {barrier_outcome::cancelled,
       end(code::cancelled, "Barrier (" + id + ") is cancelled by a task or an operator.")});
  step_.answer(r.from.call, std::monostate{});
}

}  // namespace muster::core::coordination
