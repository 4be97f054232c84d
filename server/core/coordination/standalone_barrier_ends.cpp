// How barriers end, and what their ends mean: registration, device exchange, shutdown.
#include <algorithm>

#include "server/core/coordination/standalone_service.hpp"

namespace muster::core::coordination {
namespace {

constexpr std::size_t broken_max = 20;  // notices of barriers that break at one moment

}  // namespace

void standalone_service::end_barrier(barrier_type& b, fault_ptr f) {
  b.result = std::move(f);
  b.ended = now_;
  auto const calls = std::move(b.calls);
  std::vector<std::pair<task_index, core::incarnation>> waited;
  for (auto const call : calls)
    if (call != call_id{}) {
      auto const p = parked_.take(call);
      waited.emplace_back(p.task, p.incarnation);
    }
  if (b.result && b.purpose == barrier_purpose::user && !stopped_ && broken_told_++ <= broken_max) {
    if (broken_told_ <= broken_max)
      tell(severity::warning, "barrier_failed", b.id, b.result->message);
    else
      tell(severity::warning, "barriers_failed", {}, "and more barriers at the same moment");
  }
  // What follows may end other barriers and make the table forget this one; it stays readable
  // until the step is over.
  barriers_.finish(b, limits_.finished_barriers_max);
  after_barrier(b, waited);
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (calls[i] != call_id{}) answer_barrier(b, calls[i]);
}

// What the end of a barrier means to the tasks, before its callers are answered.
void standalone_service::after_barrier(
    barrier_type const& b, std::vector<std::pair<task_index, core::incarnation>> const& waited) {
  if (b.purpose == barrier_purpose::registration) {
    for (auto const& [t, i] : waited) roll_[t].registering.reset();
    if (!b.result) {
      for (auto const& [t, i] : waited) connect(t, i);
      return tell(severity::info, "cluster_ready", {},
                  "all " + std::to_string(b.who->size()) + " tasks have registered");
    }
    if (stopped_) return;
    blame(no_task, b.result->message);
    fail_generation(b.result);
    set_all_errors("Cluster registration failed with error: " + b.result->message);
  } else if (b.purpose == barrier_purpose::shutdown) {
    if (!b.result) return disconnect(*b.who, true);
    if (stopped_) return;
    auto const f = shutdown_fault(b);
    blame(no_task, f->message);
    if (!spec_.recoverable) fail_generation(f);
    if (polled_ && failed_) broadcast(f);
    set_all_errors(f->message);
  } else if (b.purpose == barrier_purpose::devices && !b.result) {
    auto order = *everybody_;
    auto const before = [this](task_index l, task_index r) {
      auto const [lj, li] = spec_.place(l);
      auto const [rj, ri] = spec_.place(r);
      return std::tie(spec_.jobs[lj].name, li) < std::tie(spec_.jobs[rj].name, ri);
    };
    std::sort(order.begin(), order.end(), before);
    auto all = std::make_shared<std::vector<blob>>();
    for (auto const t : order)
      all->insert(all->end(), roll_[t].devices.begin(), roll_[t].devices.end());
    devices_ = std::move(all);
  }
}

fault_ptr standalone_service::shutdown_fault(barrier_type const& b) const {
  return about(
      cause_task_, code::internal,
      with_cause("Shutdown barrier has failed.\nBarrier result: '" + b.result->message + "'"));
}

void standalone_service::answer_barrier(barrier_type const& b, call_id call) {
  switch (b.purpose) {
    case barrier_purpose::registration:
      if (b.result) return answer(call, b.result);
      return answer(call, incarnation());
    case barrier_purpose::shutdown:
      if (!b.result) return answer(call, std::monostate{});
      return answer(call, shutdown_fault(b));
    case barrier_purpose::devices:
      if (b.result) return answer(call, b.result);
      return answer(call, devices_);
    case barrier_purpose::user:
      if (b.result) return answer(call, b.result);
      return answer(call, b.counter);
  }
}

void standalone_service::barrier_due(barrier_type& b) {
  if (b.purpose == barrier_purpose::registration && b.arrived_count == 0)
    return barriers_.set_due(b, never);
  auto const count = std::to_string(b.arrived_count);
  if (b.deadline > now_) {
    // Someone may have gone and another come since this was arranged.
    b.told_stuck = b.arrived_count > 0 && b.waiting_since + spec_.stuck_after <= now_;
    schedule(b);
    if (!b.told_stuck) return;
    return tell(
        severity::warning, "barrier_stuck", b.id,
        count + " of " + std::to_string(b.who->size()) + " tasks have come; " + missing_text(b));
  }
  auto const first = b.first == no_task ? std::string("none") : task_name(b.first);
  auto const head = "Barrier timed out. Id: " + shortened(b.id, id_shown) +
                    "::" + std::to_string(b.counter) +
                    ". This usually happens because a task triggered the barrier too early or too "
                    "slowly, or is gone. # of tasks that reached the barrier: " +
                    count + "/" + std::to_string(b.who->size()) +
                    ".\nThe first task at the barrier: " + first + ". ";
  auto const f = barrier_fault(b, code::deadline_exceeded, with_cause(head + missing_text(b)));
  if (b.purpose != barrier_purpose::user) blame_missing(b);
  end_barrier(b, f);
}

// Who did not come to a barrier that the whole run needs has broken it; the others are casualties.
void standalone_service::blame_missing(barrier_type const& b) {
  if (cause_ || b.purpose == barrier_purpose::devices) return;
  for (std::size_t i = 0; i < b.who->size(); ++i)
    if (b.calls[i] == call_id{} && !b.gave_up[i]) victims_.insert((*b.who)[i]);
  if (victims_.size() == 1)
    blame(*victims_.begin(),
          described(*victims_.begin()) + " never came: " + shortened(b.id, id_shown));
}

void standalone_service::on(cancel_barrier& r) {
  auto* b = barriers_.find(r.id);
  auto const id = shortened(r.id, id_shown);
  if (!b && !r.counter) return refuse(r.from, code::not_found, "there is no barrier '" + id + "'");
  if (!b) {
    if (r.id.size() > limits_.barrier_id_bytes_max || *r.counter != 0 || own(r.id))
      return refuse(r.from, code::failed_precondition, "Barrier " + id + " has not been called");
    entry const e{.from = r.from,
                  .id = &r.id,
                  .counter = 0,
                  .timeout = {},
                  .task = no_task,
                  .task_name = {},
                  .who = nullptr,
                  .stranger = {},
                  .purpose = barrier_purpose::user};
    b = &start_barrier(e, 0);
  } else if (r.counter && *r.counter != b->counter) {
    return answer(r.from.call,
                  barrier_fault(*b, code::failed_precondition,
                                "Cancel request for barrier " + id + " is for instance " +
                                    std::to_string(*r.counter) + ", the current one is " +
                                    std::to_string(b->counter)));
  } else if (!b->running) {
    auto const result = b->result ? std::string(name(b->result->code)) : "OK";
    return answer(
        r.from.call,
        barrier_fault(*b, code::failed_precondition,
                      "Barrier (" + id + ") has already been passed with status code: " + result));
  }
  end_barrier(*b, barrier_fault(*b, code::cancelled,
                                "Barrier (" + id + ") is cancelled by a task or an operator."));
  answer(r.from.call, std::monostate{});
}

// Tasks in error or gone: barriers of steady tasks fail; one that may come back just steps out.
void standalone_service::leave_barriers(std::vector<task_error> const& leavers) {
  if (barriers_.running().empty() || leavers.empty()) return;
  std::vector<task_error const*> leaver_of;
  if (leavers.size() > 1) {
    leaver_of.resize(roll_.size());
    for (auto const& l : leavers) leaver_of[l.task] = &l;
  }
  auto const leave = [this](barrier_type& b, task_error const& l) {
    auto const why = l.error ? shortened(l.error->message, 1'500) : task_name(l.task) + " has left";
    if (!recoverable(l.task))
      return end_barrier(b, barrier_fault(b, code::internal,
                                          with_cause("Barrier failed because: " + why +
                                                     " Barrier Id: " + shortened(b.id, id_shown) +
                                                     ", Task: " + described(l.task))));
    auto const call = b.calls[b.position(l.task)];
    if (call == call_id{}) return;
    parked_.take(call);
    step_out(b, l.task);
    refuse({.call = call}, code::cancelled, "Stale barrier invocation is cancelled because: " + why,
           false);
  };
  std::vector<barrier_type*> const running(barriers_.running().begin(), barriers_.running().end());
  for (auto* b : running) {
    if (leavers.size() == 1) {
      if (b->running && b->position(leavers[0].task) < b->who->size()) leave(*b, leavers[0]);
      continue;
    }
    for (std::size_t i = 0; b->running && i < b->who->size(); ++i)
      if (auto const* l = leaver_of[(*b->who)[i]]) leave(*b, *l);
  }
}

}  // namespace muster::core::coordination
