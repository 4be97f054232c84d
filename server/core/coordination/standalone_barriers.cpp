// How tasks come to barriers.
#include <algorithm>

#include "server/core/coordination/standalone_service.hpp"

namespace muster::core::coordination {

std::string standalone_service::shutdown_id() const {
  return "Shutdown::" + std::to_string(raw(incarnation()));
}

std::string standalone_service::devices_id() const {
  return "WaitForAllTasks::" + std::to_string(raw(incarnation()));
}

// The service's own barriers mean more than their callers' meeting: nobody else may open them.
bool standalone_service::own(std::string_view id) const {
  return id == registration_id || (id.starts_with("Shutdown::") && id == shutdown_id()) ||
         (id.starts_with("WaitForAllTasks::") && id == devices_id());
}

void standalone_service::on(enter_barrier& r) {
  if (own(r.id))
    return refuse(r.from, code::invalid_argument,
                  "barrier_id: " + r.id + " is the service's own barrier");
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
    if (who->size() < roll_.size() || !e.stranger.empty()) e.who = std::move(who);
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
  auto const id = devices_id();
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
    if (b->running && roll_[t].state == agent_state::disconnected) return leave(from, t);
    who = b->who;
    // The others have left already: a late one just leaves.
    if (!b->running && !b->result && b->position(t) < who->size()) disconnect({t});
  } else if (roll_[t].state == agent_state::disconnected) {
    // One that is not there must not start the clock by which all the others have to leave.
    return leave(from, t);
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
  // Refusals that end no instance carry none: the caller must not count on from them.
  if (e.timeout < duration::zero())
    return refuse(e.from, code::invalid_argument, "barrier_timeout_in_ms: must not be negative");
  if (e.id->size() > limits_.barrier_id_bytes_max)
    return refuse(e.from, code::invalid_argument,
                  "barrier_id: has " + std::to_string(e.id->size()) + " bytes, the limit is " +
                      std::to_string(limits_.barrier_id_bytes_max));
  auto* b = barriers_.find(*e.id);
  if (parked_.size() >= limits_.parked_calls_max ||
      (!(b && b->running) && barriers_.running().size() >= limits_.barriers_max))
    return refuse(e.from, code::resource_exhausted,
                  "the cluster has reached its limit of parked calls or barriers");
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
  if (b->running) return arrive(*b, e);
  // The others have registered long ago: one that was reset joins them.
  if (b->purpose == barrier_purpose::registration && !b->result) connect(e.task, e.incarnation);
  answer_barrier(*b, e.from.call);
}

// The instance that the call belongs to, new when it opens one. Null: answered already.
standalone_service::barrier_type* standalone_service::instance_for(entry const& e) {
  auto* b = barriers_.find(*e.id);
  auto const once = e.purpose != barrier_purpose::user;
  if (!b) {
    auto const believed = barriers_.forgetful() && e.counter > 0 && e.counter < counter_max;
    b = &start_barrier(e, believed ? e.counter : 0);
  } else if (!b->running && !once && b->counter < counter_max &&
             (e.counter == b->counter + 1 ||
              (e.task != no_task && recoverable(e.task) && e.counter == 0))) {
    b = &start_barrier(e, b->counter + 1);
  } else {
    return b;
  }
  auto const f = hopeless(*b, e);
  if (!f) return b;
  end_barrier(*b, f);
  answer_barrier(*b, e.from.call);
  return nullptr;
}

// Why an instance that is about to start can never pass; null when it can.
fault_ptr standalone_service::hopeless(barrier_type const& b, entry const& e) const {
  auto const id = shortened(b.id, id_shown);
  if (!e.stranger.empty())
    return barrier_fault(b, code::invalid_argument,
                         "Unexpected task (" + shortened(e.stranger, 256) +
                             ") that is not in the cluster called the barrier. Barrier Id: " + id);
  if (in_error_ == 0) return nullptr;
  for (auto const t : *b.who)
    if (roll_[t].state == agent_state::error && !recoverable(t))
      return barrier_fault(
          b, code::internal,
          with_cause("Task (" + task_name(t) +
                     ") is already in error before the barrier was called. Barrier Id: " + id +
                     ", Task: " + described(t) + ", Error: " + roll_[t].error->message));
  return nullptr;
}

standalone_service::barrier_type& standalone_service::start_barrier(entry const& e,
                                                                    std::int64_t counter) {
  auto& b = barriers_.start(*e.id);
  b.counter = counter;
  b.purpose = e.purpose;
  if (!b.who) {
    b.whole_cluster = !e.who;
    b.who = e.who ? kept(e.who) : everybody_;
  }
  b.calls.assign(b.who->size(), {});
  b.gave_up.assign(b.who->size(), false);
  b.started = b.waiting_since = now_;
  auto const far = std::chrono::hours(24 * 365 * 10);
  b.deadline = now_ + std::min<duration>(e.timeout, far);
  schedule(b);
  return b;
}

// Thousands of barriers of one set, each under an id of its own, share one list.
std::shared_ptr<participants const> standalone_service::kept(
    std::shared_ptr<participants const> who) {
  constexpr std::size_t sets_max = 16;
  auto const same = [&](auto const& s) { return s == who || *s == *who; };
  auto it = std::find_if(sets_.begin(), sets_.end(), same);
  if (it == sets_.end()) {
    if (sets_.size() == sets_max) sets_.erase(sets_.begin());
    sets_.push_back(std::move(who));
  } else {
    std::rotate(it, it + 1, sets_.end());
  }
  return sets_.back();
}

// What is wrong with the call's idea of who takes part; empty when nothing is.
std::string standalone_service::misuse(barrier_type const& b, entry const& e) const {
  auto const same = e.who ? e.who == b.who || *e.who == *b.who : b.whole_cluster;
  auto const member = e.task != no_task && b.position(e.task) < b.who->size();
  if (same && member && e.stranger.empty()) return {};
  auto const id = shortened(b.id, id_shown);
  auto const who = e.task == no_task ? shortened(e.task_name, 256) : task_name(e.task);
  if (!e.stranger.empty())
    return "Unexpected task (" + shortened(e.stranger, 256) +
           ") that is not in the cluster called the barrier. Barrier Id: " + id;
  if (!same)
    return "Conflicting tasks specified by different processes for the same barrier. Barrier Id: " +
           id + ", Task: " + who + ": expected " + std::to_string(b.who->size()) +
           " participants, got " + std::to_string(e.who ? e.who->size() : everybody_->size());
  return "A non-participating task (" + who + ") called the barrier: " + id;
}

// A counter that is not the service's: one of the two has restarted or runs ahead. Nobody at this
// instance can be served any more.
void standalone_service::mismatch(barrier_type& b, entry const& e) {
  auto const who = e.task == no_task ? shortened(e.task_name, 256) : described(e.task);
  auto const why =
      e.counter == 0
          ? "This is the task's first use of the barrier: it has likely restarted, or it is way "
            "too "
            "slow."
          : "The task is way too quick or way too slow: it does not call the barrier as often as "
            "the others.";
  auto const f =
      barrier_fault(b, code::internal,
                    "Barrier (" + shortened(b.id, id_shown) + "::" + std::to_string(e.counter) +
                        ") is invoked by the task " + who + ", but the service thinks it is the " +
                        std::to_string(b.counter) + "-th instance (from 0). " + why);
  answer(e.from.call, f);
  if (b.running) end_barrier(b, f);
}

void standalone_service::supersede(barrier_type& b, call_id call) {
  auto const p = parked_.take(call);
  step_out(b, p.task);
  if (b.purpose == barrier_purpose::registration)
    return answer(call, about(p.task, code::already_exists,
                              "Aborted connect attempt as there is a request from a newer "
                              "incarnation."));
  refuse({call, never, {}}, code::cancelled,
         "Cancelled because there's a more recent barrier call for " + shortened(b.id, id_shown) +
             " by " + task_name(p.task),
         false);
}

// Its call is no longer waited for here; the barrier goes on.
void standalone_service::step_out(barrier_type& b, task_index t) {
  b.calls[b.position(t)] = {};
  --b.arrived_count;
  b.missing_stale = true;
  if (b.purpose == barrier_purpose::registration) roll_[t].registering.reset();
}

void standalone_service::arrive(barrier_type& b, entry const& e) {
  auto p = waiting(wait_kind::barrier, e.from, e.task);
  p.barrier = &b;
  p.incarnation = e.incarnation;
  park(e.from, std::move(p));
  auto const at = b.position(e.task);
  b.calls[at] = e.from.call;
  b.missing_stale = true;
  if (b.gave_up[at]) --b.gave_up_count;
  b.gave_up[at] = false;
  if (b.first == no_task) b.first = e.task;
  if (b.arrived_count == 0) b.waiting_since = now_;
  if (b.purpose == barrier_purpose::registration) {
    roll_[e.task].registering = e.incarnation;
    // Callers of a registration that nobody waits for any more do not shorten the next attempt.
    if (b.arrived_count == 0) b.deadline = now_ + e.timeout;
  }
  if (++b.arrived_count == b.who->size()) return end_barrier(b, nullptr);
  if (b.arrived_count == 1) schedule(b);
}

// Its end, or the time to say that it is stuck.
void standalone_service::schedule(barrier_type& b) {
  auto const talks = b.purpose == barrier_purpose::user && !b.told_stuck && b.arrived_count > 0;
  barriers_.set_due(b,
                    talks ? std::min(b.deadline, b.waiting_since + spec_.stuck_after) : b.deadline);
}

}  // namespace muster::core::coordination
