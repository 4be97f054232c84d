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
      watches_(spec.jobs.size() + 1, l.watch_interval, l.few_watchers),
      devices_(spec.size()),
      polls_(spec.size()),
      closed_(spec.size()),
      notices_(spec.size()),
      wording_(step_.spec, roster_) {}

void service::begin(time_point now, effects& fx) {
  step_.begin(now, fx);
  broken_told_ = 0;
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
  if (!step_.stopped && tells_by_heartbeat() && t < roster_.size() && roster_[t].incarnation == i)
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
      if (is_notice(store_.awaited(w.key()))) listened(w, false);
      return store_.withdraw(w.key(), call);
    case wait_kind::poll:
      polls_.take(w.task);
      return;
    case wait_kind::watch:
      return watches_.remove(call);
    case wait_kind::alive:
      return alive_.withdraw(w.group(), call);
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
  auto const text = failures_.with_cause(early_text(*step_.calls.find(call)));
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
  while (step_.calls.next_deadline() <= now) answer_early(step_.calls.first());
  if (watches_.due() <= now) flush_watches();
  if (notices_.due() <= now) tell_deaf();
}

time_point service::next_deadline() const {
  if (step_.stopped) return never;
  auto next =
      std::min({barriers_.next_due(), step_.calls.next_deadline(), watches_.due(), notices_.due()});
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
  watches_.take();
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
  if (ended_ == time_point{}) ended_ = now;
}

generation_state service::state() const {
  if (failures_.failed()) return generation_state::failed;
  if (all_left()) return generation_state::finished;
  auto const* registration = barriers_.find(step_.own.registration);
  if (roster_.connected() > 0 && !(registration && registration->running))
    return generation_state::running;
  return started_ == time_point{} ? generation_state::waiting : generation_state::registering;
}

void service::on(insert_key_value& r) {
  auto const key = normal_key(r.key);
  auto const stored = store_.insert(step_.now, key, std::move(r.value), r.overwrite);
  // Clients know this one by its missing payload.
  if (!stored.ok())
    return step_.refuse(r.from, stored.code, stored.message, stored.code != code::already_exists);
  step_.answer(r.from.call, std::monostate{});
  wake(key);
  if (is_notice(key)) notice_set();
}

void service::wake(std::string const& key) {
  if (store_.waiting().empty()) return;
  auto waiters = store_.wake(key);
  if (waiters.empty()) return;
  auto const value = store_.find(key)->value;
  for (auto& [call, w] : waiters) {
    auto const waited = step_.calls.take(call);
    if (is_notice(key)) listened(waited, true);
    step_.answer(call, key_value(w.asked.empty() ? key : std::move(w.asked), value));
  }
}

// No registration is needed for keys: who waits is found by what the call says of itself.
void service::on(get_key_value& r) {
  auto const key = normal_key(r.key);
  if (auto const* e = store_.find(key))
    return step_.answer(r.from.call, key_value(std::move(r.key), e->value));
  if (!r.wait)
    return step_.refuse(r.from, code::not_found,
                        "Config key " + shortened(r.key, 2'000) + " not found.");
  if (key.size() > step_.limits.key_bytes_max)
    return step_.refuse(r.from, code::invalid_argument,
                        longer_than("key", key.size(), step_.limits.key_bytes_max));
  if (step_.refused_as_full(r.from)) return;
  if (r.peer.empty()) r.peer = r.from.peer;
  auto const t = roster_.find(r.incarnation, r.peer);
  key_value_store::waiter w{key == r.key ? std::string() : std::move(r.key), std::move(r.peer)};
  auto const id = store_.wait(key, r.from.call, std::move(w));
  step_.park(r.from, wait_kind::key, t, raw(id));
  if (is_notice(key)) listen(t);
}

void service::on(increment_key_value& r) {
  auto const key = normal_key(r.key);
  auto sum = store_.increment(step_.now, key, r.increment);
  if (!sum) return step_.refuse(r.from, sum.error().code, sum.error().message);
  step_.answer(r.from.call, key_value(std::move(r.key), *sum));
  wake(key);
}

void service::on(get_key_value_dir& r) {
  step_.answer(r.from.call, store_.below(normal_key(r.directory)));
}

void service::on(delete_key_value& r) {
  store_.erase(normal_key(r.key));
  step_.answer(r.from.call, std::monostate{});
}

std::vector<task_index> service::indices_of(std::vector<task_ref> const& tasks) {
  std::vector<task_index> found;
  found.reserve(tasks.size());
  for (auto const& t : tasks)
    if (t.index != no_task) found.push_back(t.index);
  if (!std::is_sorted(found.begin(), found.end())) std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void service::on(get_alive_tasks& r) {
  auto const who = indices_of(r.tasks);
  if (r.task.index == no_task || !std::binary_search(who.begin(), who.end(), r.task.index))
    return step_.refuse(r.from, code::invalid_argument,
                        "The requesting task is not among the tasks it asks about", false);
  if (step_.refused_as_full(r.from)) return;
  auto const g = alive_.ask(who, r.task.index, r.from.call);
  step_.park(r.from, wait_kind::alive, r.task.index, raw(g));
  check_alive(g);
}

void service::check_alive(alive_group_id g) {
  auto const connected = [this](task_index t) {
    return roster_[t].state == agent_state::connected;
  };
  auto const done = alive_.take_if_complete(g, connected);
  if (!done) return;
  auto alive = std::make_shared<alive_tasks>();
  for (auto const t : done->tasks) {
    if (!connected(t)) continue;
    alive->tasks.push_back(t);
    alive->incarnations.push_back(roster_[t].incarnation);
  }
  std::shared_ptr<alive_tasks const> const result = std::move(alive);
  for (auto const call : done->calls) {
    step_.calls.take(call);
    step_.answer(call, result);
  }
}

void service::check_all_alive() {
  for (auto const g : alive_.all()) check_alive(g);
}

// What a process asked that is no more does not speak for the one that took its place.
void service::forget_asked(task_index t) {
  for (auto const& w : alive_.of(t)) {
    step_.calls.take(w.call);
    alive_.withdraw(w.group, w.call);
    step_.refuse({.call = w.call}, code::cancelled,
                 "Cancelled because " + step_.task_name(t) + " has registered again", false);
  }
}

generation_view service::view(time_point now) const {
  generation_view v;
  v.number = step_.which.number;
  v.incarnation = step_.which.incarnation;
  v.state = state();
  v.started = started_;
  v.ended = ended_;
  v.cause = failures_.cause();
  views().count(now, v);
  v.barriers_running = barriers_.running().size();
  v.barriers_remembered = barriers_.finished().size();
  v.keys = store_.all().size();
  v.key_bytes = store_.bytes();
  v.parked_polls = polls_.waiting();
  v.parked_key_waits = store_.waiting_calls();
  v.parked_watches = watches_.waiting();
  v.parked_calls = step_.calls.size();
  return v;
}

// Each part for itself, then that every waiting call is held by exactly one of them.
std::string service::violated_invariant() const {
  for (auto broken : {roster_.violated_invariant(), barriers_.violated_invariant(),
                      store_.violated_invariant(), alive_.violated_invariant()})
    if (!broken.empty()) return broken;
  std::size_t held =
      watches_.waiting() + polls_.waiting() + store_.waiting_calls() + alive_.waiting();
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
    if (polls_.of(t) != call_id{} && !step_.calls.find(polls_.of(t)))
      return step_.task_name(t) + "'s poll is lost";
  if (held != step_.calls.size())
    return std::to_string(step_.calls.size()) + " calls are parked, " + std::to_string(held) +
           " are waited for";
  return {};
}

}  // namespace muster::core::coordination
