// How barriers end, and what their ends mean: registration, device exchange, shutdown.
#include <algorithm>

#include "server/core/coordination/standalone_service.hpp"

namespace muster::core::coordination {

void standalone_service::end_barrier(barrier_type& b, fault_ptr f) {
  b.result = std::move(f);
  b.ended = now_;
  auto const calls = std::move(b.calls);
  std::vector<std::pair<task_index, parked_call>> waited;
  for (auto const call : calls)
    if (call != call_id{}) {
      auto p = parked_.take(call);
      auto const t = p.task;
      waited.emplace_back(t, std::move(p));
    }
  auto const copy = b;  // what follows may start, end or forget barriers
  if (b.result && b.purpose == barrier_purpose::user)
    tell(severity::warning, "barrier_failed", b.id, b.result->message);
  barriers_.finish(b, limits_.finished_barriers_max);
  after_barrier(copy, std::move(waited));
  for (auto const call : calls) {
    if (call == call_id{}) continue;
    auto const place = static_cast<std::size_t>(&call - calls.data());
    answer_barrier(copy, call, (*copy.who)[place]);
  }
}

// What the end of a barrier means to the tasks, before its callers are answered.
void standalone_service::after_barrier(barrier_type const& b,
                                       std::vector<std::pair<task_index, parked_call>> calls) {
  if (b.purpose == barrier_purpose::registration) {
    if (!b.result) {
      for (auto const& [t, p] : calls) connect(t, p.incarnation);
      return tell(severity::info, "cluster_ready", {},
                  "all " + std::to_string(b.who->size()) + " tasks have registered");
    }
    for (auto const& [t, p] : calls) roll_[t].registering = {};
    if (stopped_) return;
    blame(no_task, b.result->message);
    fail_generation(b.result);
    set_all_errors("Cluster registration failed with error: " + b.result->message);
  } else if (b.purpose == barrier_purpose::shutdown) {
    if (!b.result) {
      for (auto const t : *b.who) disconnect(t, "left", true);
      return;
    }
    if (stopped_) return;
    auto const f = about(
        no_task, code::internal,
        with_cause("Shutdown barrier has failed.\nBarrier result: '" + b.result->message + "'"));
    blame(no_task, f->message);
    propagate(f, {});
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

void standalone_service::answer_barrier(barrier_type const& b, call_id call, task_index task) {
  switch (b.purpose) {
    case barrier_purpose::registration:
      if (b.result) return answer(call, b.result);
      if (roll_[task].state != agent_state::connected &&
          roll_[task].registering != core::incarnation{})
        connect(task, roll_[task].registering);
      return answer(call, incarnation());
    case barrier_purpose::shutdown:
      if (!b.result) return answer(call, std::monostate{});
      return answer(call, about(task, code::internal,
                                with_cause("Shutdown barrier has failed.\nBarrier result: '" +
                                           b.result->message + "'")));
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
  if (b.deadline > now_) {
    b.told_stuck = true;
    barriers_.set_due(b, b.deadline);
    return tell(severity::warning, "barrier_stuck", b.id,
                std::to_string(b.arrived_count) + " of " + std::to_string(b.who->size()) +
                    " tasks have come; " + missing_text(b, 1'000));
  }
  auto const first = b.first == no_task ? std::string("none") : task_name(b.first);
  auto const head = "Barrier timed out. Id: " + b.id + "::" + std::to_string(b.counter) +
                    ". This usually happens because a task triggered the barrier too early or too "
                    "slowly, or is gone. # of tasks that reached the barrier: " +
                    std::to_string(b.arrived_count) + "/" + std::to_string(b.who->size()) +
                    ".\nThe first task at the barrier: " + first + ". ";
  end_barrier(b,
              barrier_fault(b, code::deadline_exceeded, with_cause(head + missing_text(b, 2'000))));
}

// A task in error or gone: barriers of steady tasks fail; one that may come back just steps out.
void standalone_service::leave_barriers(task_index t, std::string const& why) {
  auto const running = barriers_.running();
  for (auto* b : running) {
    if (!b->running || b->position(t) == b->who->size()) continue;
    if (!recoverable(t)) {
      end_barrier(*b, barrier_fault(*b, code::internal,
                                    with_cause("Barrier failed because: " + why + " Barrier Id: " +
                                               b->id + ", Task: " + described(t))));
      continue;
    }
    auto const call = b->calls[b->position(t)];
    if (call == call_id{}) continue;
    parked_.take(call);
    b->calls[b->position(t)] = {};
    --b->arrived_count;
    refuse({call, never, {}}, code::cancelled,
           "Stale barrier invocation is cancelled because: " + why, false);
  }
}

}  // namespace muster::core::coordination
