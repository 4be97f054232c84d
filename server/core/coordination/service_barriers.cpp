// How tasks meet: what calls that enter a barrier are told, and what the ends of barriers mean to
// the tasks, above all of the service's own ones: registration, device exchange, shutdown.
#include <algorithm>

#include "server/core/coordination/service.hpp"

namespace muster::core::coordination {
namespace {

constexpr std::size_t broken_max = 20;  // remarks of barriers that break at one moment

std::string shown(std::string_view id) {
  return shortened(id, wording::id_shown);
}

}  // namespace

void service::on(enter_barrier& r) {
  if (step_.own.contain(r.id))
    return step_.refuse(r.from, code::invalid_argument,
                        "barrier_id: " + r.id + " is the service's own barrier");
  auto const t = r.task.index;
  arrival a{.id = r.id,
            .counter = r.counter,
            .timeout = r.timeout,
            .task = t,
            .begins_again = r.visits || (t != no_task && roster_[t].recoverable && r.counter == 0),
            .visits = r.visits};
  std::string stranger;
  if (!r.participants.empty()) {
    auto const unknown =
        std::find_if(r.participants.begin(), r.participants.end(),
                     [](auto const& p) { return p.index == no_task && !p.name.empty(); });
    if (unknown != r.participants.end()) stranger = unknown->name;
    auto who = std::make_shared<participants>(indices_of(r.participants));
    a.with_strangers = !stranger.empty();
    if (who->size() < roster_.size() || a.with_strangers) a.who = std::move(who);
  }
  enter(r.from, std::move(a), r.task, stranger);
}

void service::on(wait_for_all_tasks& r) {
  auto const t = r.task.index;
  if (t == no_task)
    return step_.refuse(r.from, code::invalid_argument,
                        "Unexpected task (" + r.task.name + ") that is not in the cluster");
  if (!devices_.has(t)) {
    std::size_t bytes = 0;
    for (auto const& d : r.devices) bytes += d.size();
    if (bytes > step_.limits.device_bytes_max)
      return step_.refuse(r.from, code::resource_exhausted,
                          longer_than("device_info", bytes, step_.limits.device_bytes_max));
    devices_.bring(t, std::move(r.devices), std::move(r.names), step_.limits);
  }
  enter(r.from,
        {.id = step_.own.devices,
         .timeout = std::chrono::hours(1),
         .task = t,
         .begins_again = roster_[t].recoverable,
         .purpose = barrier_purpose::devices},
        r.task);
}

void service::enter_shutdown(caller const& from, task_index t) {
  std::shared_ptr<participants const> who;
  if (auto const* b = barriers_.find(step_.own.shutdown)) {
    if (b->running && roster_[t].state == agent_state::disconnected) return leave(from, {t, {}});
    who = b->who;
    // The others have left already: a late one just leaves.
    if (!b->running && !b->result && b->has(t)) disconnect({t});
  } else if (roster_[t].state == agent_state::disconnected) {
    // One that is not there must not start the clock by which all the others have to leave.
    return leave(from, {t, {}});
  } else {
    auto steady = std::make_shared<participants>();
    for (task_index i = 0; i < roster_.size(); ++i)
      if (!roster_[i].recoverable) steady->push_back(i);
    who = std::move(steady);
  }
  enter(from,
        {.id = step_.own.shutdown,
         .timeout = step_.spec.shutdown_timeout,
         .task = t,
         .begins_again = roster_[t].recoverable,
         .who = std::move(who),
         .purpose = barrier_purpose::shutdown},
        {t, {}});
}

// `who`: as the caller names itself. `stranger`: a participant it names that the cluster does not
// have. `i`: of a registration.
void service::enter(caller const& from, arrival a, task_ref const& who, std::string const& stranger,
                    core::incarnation i) {
  // Refusals that end no instance carry none: the caller must not count on from them.
  if (a.timeout < duration::zero())
    return step_.refuse(from, code::invalid_argument,
                        "barrier_timeout_in_ms: must not be negative");
  if (a.id.size() > step_.limits.barrier_id_bytes_max)
    return step_.refuse(from, code::invalid_argument,
                        longer_than("barrier_id", a.id.size(), step_.limits.barrier_id_bytes_max));
  auto const* known = barriers_.find(a.id);
  if (step_.full() || (!(known && known->running) && barriers_.full()))
    return step_.refuse(from, code::resource_exhausted,
                        "the cluster has reached its limit of parked calls or barriers");
  auto const [n, opened] = barriers_.instance_for(a, step_.now);
  auto const& b = barriers_.at(n);
  if (auto f = opened ? hopeless(b, stranger) : nullptr)
    return answer_barrier(end_barrier(n, std::move(f)), from.call);
  if (b.running && a.task != no_task && b.has(a.task) && b.call_of(a.task) != call_id{})
    supersede(b, b.call_of(a.task));
  if (auto const fit = barriers_.fit(n, a); fit != arrival_fit::fits) {
    auto const f =
        fit == arrival_fit::miscounted ? mismatch(b, a, who) : misuse(b, a, fit, who, stranger);
    step_.answer(from.call, f);
    if (b.running && a.visits)
      barriers_.undo_if_void(n, step_.now);
    else if (b.running)
      end_barrier(n, f);
    return;
  }
  if (!b.running) {
    // The others have registered long ago: one that was reset joins them.
    if (b.purpose == barrier_purpose::registration && !b.result) connect(a.task, i);
    return answer_barrier({b.instance(), b.purpose, b.result, b.who, {}}, from.call);
  }
  step_.park(from, wait_kind::barrier, a.task, raw(n));
  if (b.purpose == barrier_purpose::registration) roster_.await(a.task, i);
  if (barriers_.arrive(n, a, from.call, step_.now)) end_barrier(n, nullptr);
}

// Why an instance that has just been opened can never pass; null when it can.
fault_ptr service::hopeless(barrier const& b, std::string const& stranger) const {
  if (!stranger.empty())
    return barrier_fault(b.instance(), code::invalid_argument, stranger_text(b, stranger));
  if (roster_.in_error() == 0) return nullptr;
  for (auto const t : *b.who) {
    auto const& a = roster_[t];
    if (a.state != agent_state::error || a.recoverable) continue;
    auto const why =
        "Task (" + step_.task_name(t) +
        ") is already in error before the barrier was called. Barrier Id: " + shown(b.id) +
        ", Task: " + wording_.described(t, step_.now) + ", Error: " + a.error->message;
    return barrier_fault(b.instance(), code::internal, record_.failures().with_cause(why));
  }
  return nullptr;
}

std::string service::stranger_text(barrier const& b, std::string const& stranger) {
  return "Unexpected task (" + shortened(stranger, 256) +
         ") that is not in the cluster called the barrier. Barrier Id: " + shown(b.id);
}

// The call has another idea of who takes part than the instance.
fault_ptr service::misuse(barrier const& b, arrival const& a, arrival_fit fit,
                          task_ref const& caller_name, std::string const& stranger) const {
  auto const who = a.task == no_task ? shortened(caller_name.name, 256) : step_.task_name(a.task);
  auto const fault_of = [&](std::string const& text) {
    return barrier_fault(b.instance(), code::invalid_argument, text);
  };
  if (fit == arrival_fit::with_strangers) return fault_of(stranger_text(b, stranger));
  if (fit == arrival_fit::no_participant)
    return fault_of("A non-participating task (" + who + ") called the barrier: " + shown(b.id));
  return fault_of(
      "Conflicting tasks specified by different processes for the same barrier. Barrier Id: " +
      shown(b.id) + ", Task: " + who + ": expected " + std::to_string(b.who->size()) +
      " participants, got " +
      std::to_string(a.who ? a.who->size() : barriers_.everybody()->size()));
}

// A counter that is not the service's: one of the two has restarted or runs ahead. Nobody at this
// instance can be served any more.
fault_ptr service::mismatch(barrier const& b, arrival const& a, task_ref const& caller_name) const {
  auto const who =
      a.task == no_task ? shortened(caller_name.name, 256) : wording_.described(a.task, step_.now);
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

void service::supersede(barrier const& b, call_id call) {
  auto const t = step_.calls.take(call).task;
  step_out(b, t);
  if (b.purpose == barrier_purpose::registration)
    return step_.answer(call,
                        task_fault(t, code::already_exists,
                                   "Aborted connect attempt as there is a request from a newer "
                                   "incarnation."));
  step_.refuse({.call = call}, code::cancelled,
               "Cancelled because there's a more recent barrier call for " + shown(b.id) + " by " +
                   step_.task_name(t),
               false);
}

void service::step_out(barrier const& b, task_index t) {
  barriers_.step_out(b.number, t);
  if (b.purpose == barrier_purpose::registration) roster_.await(t, {});
}

// The callers are answered after everything that follows from the end: it may break other barriers
// and make the table forget this one.
barrier_end service::end_barrier(barrier_number n, fault_ptr result) {
  auto e = barriers_.end(n, std::move(result), step_.now);
  for (auto const& w : e.waiters) step_.calls.take(w.call);
  if (e.result && e.purpose == barrier_purpose::user && !step_.stopped &&
      broken_told_++ <= broken_max) {
    if (broken_told_ <= broken_max)
      step_.tell(severity::warning, remark_kind::barrier_failed, e.instance.id, e.result->message);
    else
      step_.tell(severity::warning, remark_kind::barriers_failed, {},
                 "and more barriers at the same moment");
  }
  after_barrier(e);
  for (auto const& w : e.waiters) answer_barrier(e, w.call);
  return e;
}

// What the end of a barrier means to the tasks.
void service::after_barrier(barrier_end const& e) {
  if (e.purpose == barrier_purpose::registration) return after_registration(e);
  if (e.purpose == barrier_purpose::shutdown) {
    if (!e.result) return disconnect(*e.who, true);
    if (step_.stopped) return;
    auto const f = shutdown_fault(e.result);
    record_.blame(no_task, f->message);
    if (!step_.spec.recoverable) record_.fail(f);
    if (polls_.polled() && record_.failures().failed()) polls_.broadcast(f);
    fail_everybody(f->message);
  } else if (e.purpose == barrier_purpose::devices && !e.result) {
    auto order = *barriers_.everybody();
    auto const before = [this](task_index l, task_index r) {
      auto const [lj, li] = step_.spec.place(l);
      auto const [rj, ri] = step_.spec.place(r);
      return std::tie(step_.spec.jobs[lj].name, li) < std::tie(step_.spec.jobs[rj].name, ri);
    };
    std::sort(order.begin(), order.end(), before);
    devices_.gather(order);
  }
}

void service::after_registration(barrier_end const& e) {
  std::vector<core::incarnation> under;
  for (auto const& w : e.waiters) {
    under.push_back(roster_[w.task].registering.value());
    roster_.await(w.task, {});
  }
  if (!e.result) {
    for (std::size_t i = 0; i < under.size(); ++i) connect(e.waiters[i].task, under[i]);
    return step_.tell(severity::info, remark_kind::cluster_ready, {},
                      "all " + std::to_string(e.who->size()) + " tasks have registered");
  }
  if (step_.stopped) return;
  record_.blame(no_task, e.result->message);
  record_.fail(e.result);
  fail_everybody("Cluster registration failed with error: " + e.result->message);
}

fault_ptr service::shutdown_fault(fault_ptr const& result) const {
  return task_fault(record_.failures().cause_task(), code::internal,
                    record_.failures().with_cause(
                        "Shutdown barrier has failed.\nBarrier result: '" + result->message + "'"));
}

void service::answer_barrier(barrier_end const& e, call_id call) {
  if (e.result)
    return step_.answer(
        call, e.purpose == barrier_purpose::shutdown ? shutdown_fault(e.result) : e.result);
  switch (e.purpose) {
    case barrier_purpose::registration:
      return step_.answer(call, incarnation());
    case barrier_purpose::shutdown:
      return step_.answer(call, std::monostate{});
    case barrier_purpose::devices:
      return step_.answer(call, devices_.gathered());
    case barrier_purpose::user:
      return step_.answer(call, e.instance.counter);
  }
}

void service::barrier_due(barrier_number n) {
  auto const& b = barriers_.at(n);
  if (b.purpose == barrier_purpose::registration && b.arrived_count == 0)
    return barriers_.stop_clock(n);
  auto const count = std::to_string(b.arrived_count);
  if (b.deadline > step_.now) {
    if (!barriers_.remind(n, step_.now)) return;
    return step_.tell(
        severity::warning, remark_kind::barrier_stuck, b.id,
        count + " of " + std::to_string(b.who->size()) + " tasks have come; " + missing_text(b));
  }
  auto const first = b.first == no_task ? std::string("none") : step_.task_name(b.first);
  auto const head = "Barrier timed out. Id: " + shown(b.id) + "::" + std::to_string(b.counter) +
                    ". This usually happens because a task triggered the barrier too early or too "
                    "slowly, or is gone. # of tasks that reached the barrier: " +
                    count + "/" + std::to_string(b.who->size()) +
                    ".\nThe first task at the barrier: " + first + ". ";
  auto const f = barrier_fault(b.instance(), code::deadline_exceeded,
                               record_.failures().with_cause(head + missing_text(b)));
  if (b.purpose != barrier_purpose::user) blame_missing(b);
  end_barrier(n, f);
}

// Who did not come to a barrier that the whole run needs has broken it; the others are casualties.
void service::blame_missing(barrier const& b) {
  if (record_.failures().cause() || b.purpose == barrier_purpose::devices) return;
  for (std::size_t i = 0; i < b.who->size(); ++i)
    if (b.is_missing(i)) record_.add_victim((*b.who)[i]);
  if (record_.failures().victims().size() != 1) return;
  auto const t = *record_.failures().victims().begin();
  record_.blame(t, wording_.described(t, step_.now) + " never came: " + shown(b.id));
}

void service::on(cancel_barrier& r) {
  auto const* b = barriers_.find(r.id);
  auto const id = shown(r.id);
  if (!b && !r.counter)
    return step_.refuse(r.from, code::not_found, "there is no barrier '" + id + "'");
  if (!b) {
    if (r.id.size() > step_.limits.barrier_id_bytes_max || *r.counter != 0 ||
        step_.own.contain(r.id))
      return step_.refuse(r.from, code::failed_precondition,
                          "Barrier " + id + " has not been called");
    b = barriers_.find(barriers_.instance_for({.id = r.id}, step_.now).number);
  } else if (r.counter && *r.counter != b->counter) {
    return step_.answer(r.from.call,
                        barrier_fault(b->instance(), code::failed_precondition,
                                      "Cancel request for barrier " + id + " is for instance " +
                                          std::to_string(*r.counter) + ", the current one is " +
                                          std::to_string(b->counter)));
  } else if (!b->running) {
    auto const result = b->result ? std::string(name(b->result->code)) : "OK";
    return step_.answer(
        r.from.call,
        barrier_fault(b->instance(), code::failed_precondition,
                      "Barrier (" + id + ") has already been passed with status code: " + result));
  }
  end_barrier(b->number,
              barrier_fault(b->instance(), code::cancelled,
                            "Barrier (" + id + ") is cancelled by a task or an operator."));
  step_.answer(r.from.call, std::monostate{});
}

// Tasks in error or gone: barriers of steady tasks fail; one that may come back just steps out.
void service::leave_barriers(std::vector<task_error> const& leavers) {
  if (barriers_.running().empty() || leavers.empty()) return;
  std::vector<task_error const*> leaver_of;
  if (leavers.size() > 1) {
    leaver_of.resize(roster_.size());
    for (auto const& l : leavers) leaver_of[l.task] = &l;
  }
  // An end may bring about the end of others that are still to come here.
  std::vector<barrier_number> const running(barriers_.running().begin(), barriers_.running().end());
  auto const still_runs = [this](barrier_number n) -> barrier const* {
    auto const* b = barriers_.find(n);
    return b && b->running ? b : nullptr;
  };
  for (auto const n : running) {
    auto const* b = still_runs(n);
    if (!b) continue;
    if (leavers.size() == 1) {
      if (b->has(leavers[0].task)) leave_barrier(*b, leavers[0]);
      continue;
    }
    auto const who = b->who;
    for (std::size_t i = 0; b && i < who->size(); ++i)
      if (auto const* l = leaver_of[(*who)[i]]) {
        leave_barrier(*b, *l);
        b = still_runs(n);
      }
  }
}

void service::leave_barrier(barrier const& b, task_error const& l) {
  auto const why =
      l.error ? shortened(l.error->message, 1'500) : step_.task_name(l.task) + " has left";
  if (!roster_[l.task].recoverable) {
    auto const text = "Barrier failed because: " + why + " Barrier Id: " + shown(b.id) +
                      ", Task: " + wording_.described(l.task, step_.now);
    end_barrier(b.number,
                barrier_fault(b.instance(), code::internal, record_.failures().with_cause(text)));
    return;
  }
  auto const call = b.call_of(l.task);
  if (call == call_id{}) return;
  step_.calls.take(call);
  step_out(b, l.task);
  step_.refuse({.call = call}, code::cancelled,
               "Stale barrier invocation is cancelled because: " + why, false);
}

// Made once a second at most unless somebody comes or goes: ten thousand callers with one deadline
// all ask for it.
std::string const& service::missing_text(barrier const& b) {
  if (b.missing_stale || step_.now - b.missing_at >= std::chrono::seconds(1))
    barriers_.keep_missing(b.number, wording_.missing_at(b, step_.now), step_.now);
  return b.missing;
}

}  // namespace muster::core::coordination
