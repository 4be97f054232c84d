#include "server/core/coordination/standalone_service.hpp"

#include <algorithm>
#include <numeric>

namespace muster::core::coordination {
namespace {

std::shared_ptr<participants const> all_of(task_index size) {
  auto who = std::make_shared<participants>(size);
  std::iota(who->begin(), who->end(), task_index{0});
  return who;
}

void keep_task_seen(roll& agents, task_ref const& t, time_point now) {
  if (t.index != no_task) agents[t.index].last_seen = now;
}

}  // namespace

standalone_service::standalone_service(cluster_spec const& spec, limits const& l, generation g,
                                       time_point now)
    : spec_(spec),
      limits_(l),
      generation_(g),
      everybody_(all_of(spec.size())),
      roll_(spec.size()),
      store_(limits_),
      snapshots_(spec.jobs.size() + 1),
      now_(now) {
  task_index t = 0;
  for (auto const& job : spec_.jobs)
    for (std::uint32_t i = 0; i < job.tasks; ++i) roll_[t++].recoverable = job.recoverable;
}

void standalone_service::begin(time_point now, effects& fx) {
  now_ = now;
  fx_ = &fx;
  broken_told_ = 0;
  barriers_.bury();
}

void standalone_service::perform(time_point now, request& r, effects& fx) {
  begin(now, fx);
  if (stopped_) return refuse_stopped(r);
  auto const perform = [this](auto& q) {
    if (refused(q.from)) return;
    if constexpr (requires { q.task; }) keep_task_seen(roll_, q.task, now_);
    on(q);
  };
  if (auto* registration = std::get_if<register_task>(&r))
    on(*registration);
  else
    std::visit(perform, r);
}

// Dialect X names the service it believes to talk to, in every call but the registration.
bool standalone_service::refused(caller const& from) {
  if (!from.service || *from.service == incarnation()) return false;
  auto f = std::make_shared<fault>();
  f->code = code::internal;
  f->message = "wrong service incarnation: requested " + std::to_string(raw(*from.service)) +
               ", currently " + std::to_string(raw(incarnation()));
  f->mismatch = incarnation();
  answer(from.call, fault_ptr(std::move(f)));
  return true;
}

// A poll ends without an error: the agent then stops polling and lives on until the service is
// back.
void standalone_service::refuse_stopped(request const& r) {
  auto const answer_stopped = [this](auto const& q) {
    using type = std::decay_t<decltype(q)>;
    if constexpr (!std::is_same_v<type, register_task>)
      if (refused(q.from)) return;
    if constexpr (std::is_same_v<type, watch_tasks>)
      return answer(q.from.call, std::make_shared<task_states const>(task_states{{}, -1}));
    if constexpr (std::is_same_v<type, poll_for_error>)
      return refuse(q.from, code::cancelled, "The coordination service is shutting down.", false);
    refuse(q.from, code::internal, "Coordination service has stopped.");
  };
  std::visit(answer_stopped, r);
}

parked_call standalone_service::waiting(wait_kind kind, caller const& from, task_index task) const {
  parked_call p;
  p.kind = kind;
  p.task = task;
  p.since = now_;
  if (from.deadline != never) {
    auto const left = std::max(from.deadline, now_) - now_;
    auto const margin = std::clamp(left / 20, limits_.answer_margin_min, limits_.answer_margin_max);
    p.answer_by = now_ + left - std::min(margin, left / 2);  // a short wait still waits
  }
  return p;
}

void standalone_service::park(caller const& from, parked_call p) {
  parked_.park(from.call, std::move(p));
}

void standalone_service::answer(call_id call, fault_ptr f) {
  fx_->replies.push_back({call, std::move(f), {}});
}

void standalone_service::refuse(caller const& from, muster::code c, std::string message,
                                bool coordination) {
  auto f = std::make_shared<fault>();
  f->code = c;
  f->message = cut(message);
  f->coordination = coordination;
  answer(from.call, fault_ptr(std::move(f)));
}

void standalone_service::tell(severity s, std::string kind, std::string subject, std::string text) {
  fx_->notices.push_back({s, std::move(kind), spec_.name, std::move(subject), std::move(text)});
}

void standalone_service::call_gone(time_point now, call_id call, effects& fx) {
  begin(now, fx);
  if (parked_.find(call) == nullptr) return;
  withdraw(call, parked_.take(call));
}

// What the call waited for goes on without it.
void standalone_service::withdraw(call_id call, parked_call const& p) {
  switch (p.kind) {
    case wait_kind::barrier:
      step_out(*p.barrier, p.task);
      break;
    case wait_kind::key:
      store_.withdraw(*p.key, call);
      break;
    case wait_kind::poll:
      roll_[p.task].poll = {};
      break;
    case wait_kind::watch:
      watchers_.erase(call);
      break;
    case wait_kind::alive:
      p.alive->calls.erase(call);
      --p.alive->asked[p.alive->position(p.task)];
      if (p.alive->calls.empty()) alive_.erase(std::vector<task_index>(p.alive->tasks));
      break;
  }
}

// Shortly before the caller gives up by itself it is told what it waited for.
void standalone_service::answer_early(call_id call) {
  auto const text = early_text(*parked_.find(call));
  auto const p = parked_.take(call);
  withdraw(call, p);
  if (p.kind == wait_kind::barrier) {
    p.barrier->gave_up[p.barrier->position(p.task)] = true;
    ++p.barrier->gave_up_count;
    p.barrier->missing_stale = false;  // it came: those who are missing are still the same
  }
  answer(call, about(p.task, code::deadline_exceeded, text));
}

void standalone_service::tick(time_point now, effects& fx) {
  auto const late = now - next_deadline();
  begin(now, fx);
  if (stopped_) return;
  // What the tasks sent meanwhile may still be on its way: each has the time of one beat for it.
  if (next_deadline() != never && late > limits_.stall_grace)
    roll_.forgive(late, spec_.heartbeat_timeout / 2, now);
  check_heartbeats();
  while (barriers_.next_due() <= now) barrier_due(barriers_.first_due());
  while (parked_.next_deadline() <= now) answer_early(parked_.first_due());
  if (watch_due_ <= now) flush_watches();
}

time_point standalone_service::next_deadline() const {
  if (stopped_) return never;
  auto next = std::min({barriers_.next_due(), parked_.next_deadline(), watch_due_});
  if (!roll_.beating().empty()) {
    auto const oldest = roll_[roll_.beating().front()].last_heartbeat + spec_.heartbeat_timeout;
    next = std::min(next, std::max(oldest, next_check_));
  }
  return next;
}

void standalone_service::stop(time_point now, effects& fx) {
  begin(now, fx);
  if (stopped_) return;
  stopped_ = true;
  while (!barriers_.running().empty()) {
    auto& b = *barriers_.running().front();
    end_barrier(b, barrier_fault(b, code::aborted,
                                 "Barrier " + shortened(b.id, id_shown) +
                                     " failed because the coordination service "
                                     "is shutting down."));
  }
  watch_due_ = never;
  auto const gone = std::make_shared<task_states>(task_states{{}, -1});
  std::vector<call_id> rest;
  for (auto const& [call, p] : parked_.all()) rest.push_back(call);
  std::sort(rest.begin(), rest.end());
  for (auto const call : rest) {
    auto const p = parked_.take(call);
    withdraw(call, p);
    if (p.kind == wait_kind::watch)
      answer(call, std::shared_ptr<task_states const>(gone));
    else
      refuse({call, never, {}}, code::cancelled, "The coordination service is shutting down.",
             false);
  }
  if (ended_ == time_point{}) ended_ = now;
}

generation_state standalone_service::state() const {
  if (failed_) return generation_state::failed;
  if (all_left()) return generation_state::finished;
  auto const* registration = barriers_.find(registration_id);
  if (connected_ > 0 && !(registration && registration->running)) return generation_state::running;
  return started_ == time_point{} ? generation_state::waiting : generation_state::registering;
}

bool standalone_service::knows(core::incarnation task) const {
  return std::any_of(roll_.all().begin(), roll_.all().end(), [task](agent const& a) {
    return (a.ever_connected && a.incarnation == task) || a.registering == task;
  });
}

std::vector<std::string> standalone_service::peers() const {
  std::vector<std::string> known;
  for (auto const& a : roll_.all())
    if (!a.peer.empty()) known.push_back(a.peer);
  return known;
}

std::vector<core::incarnation> standalone_service::incarnations() const {
  std::vector<core::incarnation> known;
  for (auto const& a : roll_.all()) {
    if (a.ever_connected) known.push_back(a.incarnation);
    if (a.registering) known.push_back(*a.registering);
  }
  return known;
}

status add_standalone(service_registry& registry) {
  auto const make = [](cluster_spec const& spec, limits const& l, generation g, time_point now) {
    return std::make_unique<standalone_service>(spec, l, g, now);
  };
  return registry.add("standalone", make);
}

}  // namespace muster::core::coordination
