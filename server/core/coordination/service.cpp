// Routing, clockwork and waiting calls; keys and sets of tasks, which concern nobody else.
#include "server/core/coordination/service.hpp"

#include <algorithm>

namespace muster::core::coordination {
namespace {

constexpr auto shutting_down = "The coordination service is shutting down.";

}  // namespace

service::service(cluster_spec const& spec, limits const& l, generation g)
    : step_(spec, l, g),
      roster_(spec, l.journalled),
      barriers_(spec.size(), spec.stuck_after, step_.limits),
      store_(step_.limits),
      closed_(spec.size()),
      wording_(step_.spec, roster_),
      record_(step_, roster_, barriers_),
      queries_(step_, roster_),
      notices_(step_, roster_, store_, wording_),
      keys_(step_, roster_, store_, notices_),
      polls_(step_, roster_, closed_, record_),
      devices_(spec.size()) {}

void service::begin(time_point now, effects& fx) {
  step_.begin(now, fx);
  version_before_ = roster_.version();
  broken_told_ = 0;
}

void service::note_changes() {
  if (roster_.version() != version_before_) queries_.note_change();
}

void service::perform(time_point now, request& r, effects& fx) {
  begin(now, fx);
  if (step_.stopped) return refuse_stopped(r);
  auto const route = [this](auto& q) {
    if (refused(q.from)) return;
    if constexpr (requires { q.task; })
      if (q.task.index != no_task) {
        roster_.seen(q.task.index, step_.now);
        closed_.heard(q.task.index, step_.now);
      }
    on(q);
  };
  if (auto* registration = std::get_if<register_task>(&r))
    on(*registration);
  else
    std::visit(route, r);
  note_changes();
}

// XLA's agents name the service they believe to talk to, in every call but the registration.
bool service::refused(caller const& from) {
  if (!from.service || *from.service == incarnation()) return false;
  step_.answer(from.call,
               std::make_shared<fault const>(wrong_service(*from.service, incarnation())));
  return true;
}

// A poll ends without an error: the agent then stops polling and lives on until the service is
// back.
void service::refuse_stopped(request const& r) {
  auto const answer_stopped = [this](auto const& q) {
    using type = std::decay_t<decltype(q)>;
    if constexpr (!std::is_same_v<type, register_task>)
      if (refused(q.from)) return;
    if constexpr (std::is_same_v<type, watch_tasks>)
      return step_.answer(q.from.call, std::make_shared<task_states const>(task_states{{}, -1}));
    if constexpr (std::is_same_v<type, poll_for_error>)
      return step_.refuse(q.from, code::cancelled, shutting_down, false);
    step_.refuse(q.from, code::internal, "Coordination service has stopped.");
  };
  std::visit(answer_stopped, r);
}

void service::call_gone(time_point now, call_id call, effects& fx) {
  begin(now, fx);
  if (step_.calls.find(call) == nullptr) return;
  auto const w = step_.calls.take(call);
  withdraw(call, w);
  // A poll ends by its answer or with the connection: nobody else takes it back.
  if (w.kind == wait_kind::poll) note_closed(w.task);
}

void service::connection_closed(time_point now, task_index t, core::incarnation i) {
  step_.now = now;
  if (!step_.stopped && polls_.by_heartbeat() && t < roster_.size() && roster_[t].incarnation == i)
    note_closed(t);
}

void service::note_closed(task_index t) {
  if (step_.spec.connection_grace > duration::zero() && roster_[t].state == agent_state::connected)
    closed_.note(t, step_.now);
}

// What the call waited for goes on without it.
void service::withdraw(call_id call, waiting_call const& w) {
  switch (w.kind) {
    case wait_kind::barrier:
      step_out(barriers_.at(w.barrier()), w.task);
      return barriers_.undo_if_void(w.barrier(), step_.now);
    case wait_kind::key:
      return keys_.withdraw(call, w);
    case wait_kind::poll:
      return polls_.withdraw(w.task);
    case wait_kind::watch:
    case wait_kind::alive:
      return queries_.withdraw(call, w);
  }
}

// What a caller is told shortly before its own deadline.
std::string service::early_text(waiting_call const& w) {
  auto const waited =
      " after " + wording::seconds(step_.now - w.since) + ", shortly before the call's deadline";
  if (w.kind == wait_kind::key)
    return "Key " + shortened(store_.awaited(w.key()), 512) + " has not been set" + waited +
           wording_.not_connected();
  if (w.kind != wait_kind::barrier) return "No answer" + waited + wording_.not_connected();
  auto const& b = barriers_.at(w.barrier());
  auto const count =
      std::to_string(b.arrived_count + b.gave_up_count) + " of " + std::to_string(b.who->size());
  auto const missing = waited + ". " + missing_text(b);
  switch (b.purpose) {
    case barrier_purpose::registration:
      return count + " tasks have registered" + missing;
    case barrier_purpose::shutdown:
      return "Shutdown: " + count + " tasks have come to leave" + missing;
    default:
      return "Barrier " + shortened(b.id, wording::id_shown) + ": " + count + " tasks have come" +
             missing;
  }
}

// Shortly before the caller gives up by itself it is told what it waited for.
void service::answer_early(call_id call) {
  auto const text = record_.failures().with_cause(early_text(*step_.calls.find(call)));
  auto const w = step_.calls.take(call);
  withdraw(call, w);
  if (auto const* b = w.kind == wait_kind::barrier ? barriers_.find(w.barrier()) : nullptr;
      b && b->running && b->deadline != never)
    barriers_.note_gave_up(w.barrier(), w.task);
  step_.answer(call, task_fault(w.task, code::deadline_exceeded, text));
}

void service::tick(time_point now, effects& fx) {
  auto const late = now - next_deadline();
  begin(now, fx);
  if (step_.stopped) return;
  // What the tasks sent meanwhile may still be on its way: each has the time of one beat for it.
  if (next_deadline() != never && late > step_.limits.stall_grace) {
    roster_.forgive(late, step_.spec.heartbeat_timeout / 2, now);
    closed_.begin_again(now);
  }
  check_heartbeats();
  check_connections();
  while (barriers_.next_due() <= now) barrier_due(barriers_.first_due());
  note_changes();
  while (step_.calls.next_deadline() <= now) answer_early(step_.calls.first());
  if (queries_.due() <= now) queries_.tell_watchers();
  if (notices_.due() <= now) notices_.tell_deaf();
}

time_point service::next_deadline() const {
  if (step_.stopped) return never;
  auto next =
      std::min({barriers_.next_due(), step_.calls.next_deadline(), queries_.due(), notices_.due()});
  if (closed_.oldest() != never)
    next = std::min(next, closed_.oldest() + step_.spec.connection_grace);
  if (roster_.connected() > 0) {
    auto const oldest = roster_.oldest_heartbeat() + step_.spec.heartbeat_timeout;
    next = std::min(next, std::max(oldest, next_check_));
  }
  return next;
}

void service::stop(time_point now, effects& fx) {
  begin(now, fx);
  if (step_.stopped) return;
  step_.stopped = true;
  while (!barriers_.running().empty()) {
    auto const& b = barriers_.at(barriers_.running().front());
    auto const why = "Barrier " + shortened(b.id, wording::id_shown) +
                     " failed because the coordination service is shutting down.";
    end_barrier(b.number, barrier_fault(b.instance(), code::aborted, why));
  }
  auto const gone = std::make_shared<task_states const>(task_states{{}, -1});
  std::vector<call_id> rest;
  for (auto const& [call, w] : step_.calls.all()) rest.push_back(call);
  std::sort(rest.begin(), rest.end());
  for (auto const call : rest) {
    auto const w = step_.calls.take(call);
    withdraw(call, w);
    if (w.kind == wait_kind::watch)
      step_.answer(call, gone);
    else
      step_.refuse({.call = call}, code::cancelled, shutting_down, false);
  }
  record_.stop();
}

generation_view service::view(time_point now) const {
  generation_view v;
  record_.describe(v);
  views().count(now, v);
  v.barriers_running = barriers_.running().size();
  v.barriers_remembered = barriers_.finished().size();
  v.keys = store_.all().size();
  v.key_bytes = store_.bytes();
  v.parked_polls = polls_.polls().waiting();
  v.parked_key_waits = store_.waiting_calls();
  v.parked_watches = queries_.watching();
  v.parked_calls = step_.calls.size();
  return v;
}

// Each part for itself, then that every waiting call is held by exactly one of them.
std::string service::violated_invariant() const {
  for (auto broken : {roster_.violated_invariant(), barriers_.violated_invariant(),
                      store_.violated_invariant(), queries_.alive().violated_invariant()})
    if (!broken.empty()) return broken;
  std::size_t held = queries_.watching() + polls_.polls().waiting() + store_.waiting_calls() +
                     queries_.alive().waiting();
  for (auto const n : barriers_.running()) {
    auto const& b = barriers_.at(n);
    held += b.arrived_count;
    for (std::size_t i = 0; i < b.calls.size(); ++i) {
      if (b.calls[i] == call_id{}) continue;
      auto const* w = step_.calls.find(b.calls[i]);
      if (!w || w->kind != wait_kind::barrier || w->barrier() != n || w->task != (*b.who)[i])
        return "barrier " + b.id + " holds a call that is not parked there";
    }
  }
  for (task_index t = 0; t < roster_.size(); ++t)
    if (auto const call = polls_.polls().of(t); call != call_id{} && !step_.calls.find(call))
      return step_.task_name(t) + "'s poll is lost";
  if (held != step_.calls.size())
    return std::to_string(step_.calls.size()) + " calls are parked, " + std::to_string(held) +
           " are waited for";
  return {};
}

}  // namespace muster::core::coordination
