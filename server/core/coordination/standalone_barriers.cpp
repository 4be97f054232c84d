// How tasks come to barriers.
#include <algorithm>

#include "server/core/coordination/standalone_service.hpp"

namespace muster::core::coordination {

fault_ptr standalone_service::barrier_fault(barrier_type const& b, core::code c,
                                            std::string message) const {
  auto f = std::make_shared<fault>();
  f->code = c;
  f->message = cut(std::move(message));
  f->barrier = barrier_instance{b.id, b.counter};
  return f;
}

std::string standalone_service::shutdown_id() const {
  return "Shutdown::" + std::to_string(raw(incarnation()));
}

void standalone_service::on(enter_barrier& r) {
  entry e{.from = r.from,
          .id = &r.id,
          .counter = r.counter,
          .timeout = r.timeout,
          .task = r.task.index,
          .task_name = r.task.name,
          .who = nullptr,
          .stranger = {},
          .purpose = barrier_purpose::user};
  if (!r.participants.empty()) {
    auto who = std::make_shared<participants>();
    who->reserve(r.participants.size());
    for (auto& p : r.participants) {
      if (p.index != no_task)
        who->push_back(p.index);
      else if (e.stranger.empty())
        e.stranger = std::move(p.name);
    }
    if (!std::is_sorted(who->begin(), who->end())) std::sort(who->begin(), who->end());
    who->erase(std::unique(who->begin(), who->end()), who->end());
    e.who = std::move(who);
  }
  enter(std::move(e));
}

void standalone_service::on(wait_for_all_tasks& r) {
  if (r.task.index == no_task)
    return refuse(r.from, code::invalid_argument,
                  "Unexpected task (" + r.task.name + ") that is not in the cluster");
  auto& a = roll_[r.task.index];
  if (!a.has_devices) {
    std::size_t bytes = 0;
    for (auto const& d : r.devices) bytes += d.size();
    if (bytes > limits_.device_bytes_max)
      return refuse(r.from, code::resource_exhausted,
                    "device_info: has " + std::to_string(bytes) + " bytes, the limit is " +
                        std::to_string(limits_.device_bytes_max));
    a.devices = std::move(r.devices);
    a.has_devices = true;
  }
  auto const id = "WaitForAllTasks::" + std::to_string(raw(incarnation()));
  enter({.from = r.from,
         .id = &id,
         .counter = 0,
         .timeout = std::chrono::hours(1),
         .task = r.task.index,
         .task_name = {},
         .who = nullptr,
         .stranger = {},
         .purpose = barrier_purpose::devices});
}

void standalone_service::enter_shutdown(caller const& from, task_index t) {
  auto const id = shutdown_id();
  std::shared_ptr<participants const> who;
  if (auto const* b = barriers_.find(id)) {
    who = b->who;
    // The others have left already: a late one just leaves.
    if (!b->running && !b->result && b->position(t) < who->size()) disconnect(t, "left");
  } else {
    auto steady = std::make_shared<participants>();
    for (task_index i = 0; i < roll_.size(); ++i)
      if (!recoverable(i)) steady->push_back(i);
    who = std::move(steady);
  }
  enter({.from = from,
         .id = &id,
         .counter = 0,
         .timeout = spec_.shutdown_timeout,
         .task = t,
         .task_name = {},
         .who = who,
         .stranger = {},
         .purpose = barrier_purpose::shutdown});
}

void standalone_service::enter(entry e) {
  barrier_type unknown;  // answers that concern no barrier yet still name one
  unknown.id = *e.id;
  if (stopped_)
    return answer(e.from.call, barrier_fault(unknown, code::internal,
                                             "Coordination service has stopped. Barrier " + *e.id));
  if (e.id->size() > limits_.barrier_id_bytes_max || e.timeout < duration::zero()) {
    auto const text = e.timeout < duration::zero()
                          ? std::string("barrier_timeout_in_ms: must not be negative")
                          : "barrier_id: has " + std::to_string(e.id->size()) +
                                " bytes, the limit is " +
                                std::to_string(limits_.barrier_id_bytes_max);
    unknown.id.resize(std::min<std::size_t>(unknown.id.size(), 256));
    return answer(e.from.call, barrier_fault(unknown, code::invalid_argument, text));
  }
  auto* b = barriers_.find(*e.id);
  if (parked_.size() >= limits_.parked_calls_max ||
      (!(b && b->running) && barriers_.running().size() >= limits_.barriers_max))
    return answer(e.from.call,
                  barrier_fault(b ? *b : unknown, code::resource_exhausted,
                                "the cluster has reached its limit of parked calls or barriers"));
  b = instance_for(e);
  if (!b) return;
  auto const whoami = b->position(e.task);
  if (b->running && e.task != no_task && whoami < b->who->size() && b->calls[whoami] != call_id{})
    supersede(*b, b->calls[whoami]);
  auto const back_from_restart = e.task != no_task && recoverable(e.task) && e.counter == 0;
  if (e.counter != b->counter && !back_from_restart) return mismatch(*b, e);
  if (auto const wrong = misuse(*b, e); !wrong.empty()) {
    auto const f = barrier_fault(*b, code::invalid_argument, wrong);
    answer(e.from.call, f);
    if (b->running) end_barrier(*b, f);
    return;
  }
  if (!b->running) return answer_barrier(*b, e.from.call, e.task);
  arrive(*b, e);
}

// The instance that the call belongs to, new when it opens one. Null: answered already.
standalone_service::barrier_type* standalone_service::instance_for(entry const& e) {
  auto* b = barriers_.find(*e.id);
  auto const once = e.purpose != barrier_purpose::user;
  if (!b) {
    auto const believed = e.counter > 0 && barriers_.forgetful();
    b = &start_barrier(e, believed ? e.counter : 0);
  } else if (!b->running && !once &&
             (e.counter == b->counter + 1 ||
              (e.task != no_task && recoverable(e.task) && e.counter == 0))) {
    b = &start_barrier(e, b->counter + 1);
  } else {
    return b;
  }
  fault_ptr f;
  if (!e.stranger.empty())
    f = barrier_fault(*b, code::invalid_argument,
                      "Unexpected task (" + e.stranger +
                          ") that is not in the cluster called the barrier. Barrier Id: " + b->id);
  for (auto const t : *b->who) {
    if (f) break;
    if (roll_[t].state == agent_state::error && !recoverable(t))
      f = barrier_fault(
          *b, code::internal,
          with_cause("Task (" + task_name(t) +
                     ") is already in error before the barrier was called. Barrier "
                     "Id: " +
                     b->id + ", Task: " + described(t) + ", Error: " + roll_[t].error->message));
  }
  if (!f) return b;
  end_barrier(*b, f);
  answer_barrier(*b, e.from.call, e.task);
  return nullptr;
}

standalone_service::barrier_type& standalone_service::start_barrier(entry const& e,
                                                                    std::int64_t counter) {
  auto& b = barriers_.start(*e.id);
  b.counter = counter;
  b.purpose = e.purpose;
  if (!b.who) {
    b.whole_cluster = !e.who;
    b.who = e.who ? e.who : everybody_;
  }
  b.calls.assign(b.who->size(), {});
  b.started = now_;
  auto const far = std::chrono::hours(24 * 365 * 10);
  b.deadline = now_ + std::min<duration>(e.timeout, far);
  auto const stuck_at = e.purpose == barrier_purpose::user ? now_ + spec_.stuck_after : never;
  barriers_.set_due(b, std::min(b.deadline, stuck_at));
  return b;
}

// What is wrong with the call's idea of who takes part; empty when nothing is.
std::string standalone_service::misuse(barrier_type const& b, entry const& e) const {
  auto const who = e.task == no_task ? e.task_name : task_name(e.task);
  if (!e.stranger.empty())
    return "Unexpected task (" + e.stranger +
           ") that is not in the cluster called the barrier. "
           "Barrier Id: " +
           b.id;
  auto const same = e.who ? e.who == b.who || *e.who == *b.who : b.whole_cluster;
  if (!same)
    return "Conflicting tasks specified by different processes for the same barrier. Barrier Id: " +
           b.id + ", Task: " + who + ": expected " + std::to_string(b.who->size()) +
           " participants, got " + std::to_string(e.who ? e.who->size() : everybody_->size());
  if (e.task == no_task || b.position(e.task) == b.who->size())
    return "A non-participating task (" + who + ") called the barrier: " + b.id;
  return {};
}

// A counter that is not the service's: one of the two has restarted or runs ahead. Nobody at this
// instance can be served any more.
void standalone_service::mismatch(barrier_type& b, entry const& e) {
  auto const who = e.task == no_task ? e.task_name : described(e.task);
  auto const why =
      e.counter == 0
          ? "This is the first use of the barrier by the task: it has likely restarted."
          : "The task is way too quick or way too slow: it does not call the barrier as often as "
            "the others.";
  auto const f =
      barrier_fault(b, code::internal,
                    "Barrier (" + b.id + "::" + std::to_string(e.counter) +
                        ") is invoked by the task " + who + ", but the service thinks it is the " +
                        std::to_string(b.counter) + "-th instance (from 0). " + why);
  answer(e.from.call, f);
  if (b.running) end_barrier(b, f);
}

void standalone_service::supersede(barrier_type& b, call_id call) {
  auto const p = parked_.take(call);
  b.calls[b.position(p.task)] = {};
  --b.arrived_count;
  if (b.purpose == barrier_purpose::registration)
    return answer(call, about(p.task, code::already_exists,
                              "Aborted connect attempt as there is a request from a newer "
                              "incarnation."));
  refuse({call, never, {}}, code::cancelled,
         "Cancelled because there's a more recent barrier call for " + b.id + " by " +
             task_name(p.task),
         false);
}

void standalone_service::arrive(barrier_type& b, entry const& e) {
  auto p = waiting(wait_kind::barrier, e.from, e.task);
  p.barrier = &b;
  p.incarnation = e.incarnation;
  park(e.from, std::move(p));
  b.calls[b.position(e.task)] = e.from.call;
  if (b.first == no_task) b.first = e.task;
  // Callers of a registration that nobody waits for any more do not shorten the next attempt.
  if (b.purpose == barrier_purpose::registration && b.arrived_count == 0) {
    b.deadline = now_ + e.timeout;
    barriers_.set_due(b, b.deadline);
  }
  if (++b.arrived_count == b.who->size()) end_barrier(b, nullptr);
}

void standalone_service::on(cancel_barrier& r) {
  barrier_type unknown;
  unknown.id = r.id;
  if (stopped_)
    return answer(r.from.call, barrier_fault(unknown, code::internal,
                                             "Coordination service has stopped. CancelBarrier()"));
  auto* b = barriers_.find(r.id);
  if (!b && !r.counter)
    return refuse(r.from, code::not_found, "there is no barrier '" + r.id + "'");
  if (!b) {
    if (r.id.size() > limits_.barrier_id_bytes_max || *r.counter != 0)
      return answer(r.from.call, barrier_fault(unknown, code::failed_precondition,
                                               "Barrier " + r.id + " has not been called"));
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
                                "Cancel request for barrier " + r.id + " is for instance " +
                                    std::to_string(*r.counter) + ", the current one is " +
                                    std::to_string(b->counter)));
  } else if (!b->running) {
    auto const result = b->result ? std::string(name(b->result->code)) : "OK";
    return answer(r.from.call,
                  barrier_fault(*b, code::failed_precondition,
                                "Barrier (" + r.id +
                                    ") has already been passed with status code: " + result));
  }
  end_barrier(*b, barrier_fault(*b, code::cancelled,
                                "Barrier (" + r.id + ") is cancelled by a task or an operator."));
  answer(r.from.call, std::monostate{});
}

}  // namespace muster::core::coordination
