// Copies for readers, and the invariants.
#include <algorithm>

#include "server/core/coordination/standalone_service.hpp"

namespace muster::core::coordination {
namespace {

constexpr std::size_t waits_shown = 8;
constexpr std::size_t waiters_shown = 100;

}  // namespace

// Tasks that keep others waiting for too long, each with the barrier that waits longest.
standalone_service::late_for standalone_service::late_tasks(time_point now) const {
  late_for late(roll_.size());
  for (auto const* b : barriers_.running()) {
    if (b->purpose != barrier_purpose::user || b->arrived_count == 0 ||
        b->waiting_since + spec_.stuck_after > now)
      continue;
    for (std::size_t i = 0; i < b->who->size(); ++i)
      if (auto& l = late[(*b->who)[i]];
          b->calls[i] == call_id{} && (!l || b->waiting_since < l->waiting_since))
        l = b;
  }
  return late;
}

agent_health standalone_service::health_of(task_index t, late_for const& late,
                                           time_point now) const {
  auto const& a = roll_[t];
  if (a.state == agent_state::error) return agent_health::error;
  if (a.state == agent_state::disconnected)
    return a.registering      ? agent_health::registering
           : a.ever_connected ? agent_health::disconnected
                              : agent_health::missing;
  auto const overdue = a.last_heartbeat + spec_.heartbeat_timeout / 4 * 3 < now;
  return late[t] || overdue ? agent_health::late : agent_health::connected;
}

agent_view standalone_service::agent_of(task_index t, late_for const& late, time_point now) const {
  auto const& a = roll_[t];
  agent_view v;
  v.task = t;
  auto const [job, index] = spec_.place(t);
  v.job = spec_.jobs[job].name;
  v.index = index;
  v.incarnation = a.registering.value_or(a.incarnation);
  v.peer = a.peer;
  v.recoverable = recoverable(t);
  v.registered_at = a.registered_at;
  v.last_heartbeat = a.last_heartbeat;
  v.devices = a.devices.size();
  v.error = a.error;
  v.casualty = a.casualty;
  v.health = health_of(t, late, now);
  if (v.health == agent_health::late && late[t]) {
    v.late_for = late[t]->id;
    v.late_since = late[t]->waiting_since;
  }
  return v;
}

std::vector<agent_view> standalone_service::tasks(time_point now, std::size_t after,
                                                  std::size_t limit) const {
  std::vector<agent_view> views;
  if (after >= roll_.size()) return views;
  auto const late = late_tasks(now);
  auto const end = after + std::min(limit, roll_.size() - after);
  views.reserve(end - after);
  for (auto t = after; t < end; ++t)
    views.push_back(agent_of(static_cast<task_index>(t), late, now));
  add_waits(views, after);
  return views;
}

// What each of these tasks waits for; `after` is the first one's index.
void standalone_service::add_waits(std::vector<agent_view>& views, std::size_t after) const {
  auto const note = [&](task_index t, char const* what, std::string const& which) {
    if (t < after || t - after >= views.size()) return;
    auto& list = views[t - after].waiting_for;
    if (list.size() < waits_shown) list.push_back(what + which);
  };
  for (auto const* b : barriers_.running()) {
    auto const& who = *b->who;
    auto const first = std::lower_bound(who.begin(), who.end(), after) - who.begin();
    for (auto i = static_cast<std::size_t>(first); i < who.size() && who[i] - after < views.size();
         ++i)
      if (b->calls[i] != call_id{}) note(who[i], "barrier ", b->id);
  }
  for (auto const& [key, calls] : store_.waiting())
    for (auto const call : calls) note(parked_.find(call)->task, "key ", key);
}

barrier_view standalone_service::barrier_of(barrier_type const& b, bool with_tasks) const {
  barrier_view v;
  v.id = b.id;
  v.counter = b.counter;
  v.state = b.running  ? barrier_state::running
            : b.result ? barrier_state::failed
                       : barrier_state::passed;
  v.fault = b.result;
  v.started = b.started;
  v.deadline = b.deadline;
  v.ended = b.ended;
  v.participants = b.who->size();
  v.arrived_count = b.arrived_count;
  v.first = b.first == no_task ? std::string() : task_name(b.first);
  if (!with_tasks || !b.running) return v;
  for (std::size_t i = 0; i < b.who->size(); ++i) {
    auto const t = (*b.who)[i];
    if (b.calls[i] != call_id{})
      v.arrived.push_back(task_name(t));
    else
      v.missing.push_back(
          {t, task_name(t), roll_[t].peer, std::max(roll_[t].last_seen, roll_[t].last_heartbeat)});
  }
  return v;
}

std::vector<barrier_view> standalone_service::barriers(time_point, std::size_t after,
                                                       std::size_t limit) const {
  std::vector<barrier_view> views;
  std::size_t skipped = 0;
  auto const add = [&](barrier_type const& b) {
    if (skipped++ < after) return true;
    if (views.size() == limit) return false;
    views.push_back(barrier_of(b, false));
    return true;
  };
  for (auto const* b : barriers_.running())
    if (!add(*b)) return views;
  for (auto it = barriers_.finished().rbegin(); it != barriers_.finished().rend(); ++it)
    if (!add(**it)) return views;
  return views;
}

std::optional<barrier_view> standalone_service::barrier(time_point, std::string_view id) const {
  auto const* b = barriers_.find(id);
  if (!b) return {};
  return barrier_of(*b, true);
}

std::vector<key_view> standalone_service::keys(std::string_view prefix, std::string_view after,
                                               std::size_t limit) const {
  std::vector<key_view> views;
  auto const& all = store_.all();
  auto it = after > prefix ? all.upper_bound(after) : all.lower_bound(prefix);
  for (; it != all.end() && it->first.starts_with(prefix) && views.size() < limit; ++it)
    views.push_back({it->first, it->second.value, it->second.changed});
  return views;
}

std::optional<key_view> standalone_service::key(std::string_view key) const {
  auto const normal = normal_key(key);
  auto const* e = store_.find(normal);
  if (!e) return {};
  return key_view{normal, e->value, e->changed};
}

std::vector<key_wait_view> standalone_service::key_waits(std::string_view prefix,
                                                         std::size_t limit) const {
  std::vector<key_wait_view> views;
  auto const& all = store_.waiting();
  for (auto it = all.lower_bound(prefix);
       it != all.end() && it->first.starts_with(prefix) && views.size() < limit; ++it) {
    key_wait_view v{it->first, {}, it->second.size()};
    for (auto const call : it->second) {
      if (v.waiters.size() == waiters_shown) break;
      auto const& p = *parked_.find(call);
      v.waiters.push_back({p.task == no_task ? p.peer : task_name(p.task), p.since, p.answer_by});
    }
    views.push_back(std::move(v));
  }
  return views;
}

generation_view standalone_service::view(time_point now) const {
  generation_view v;
  v.number = generation_.number;
  v.incarnation = generation_.incarnation;
  v.state = state();
  v.started = started_;
  v.ended = ended_;
  v.cause = cause_;
  auto const late = late_tasks(now);
  for (task_index t = 0; t < roll_.size(); ++t) {
    ++v.by_health[static_cast<std::size_t>(health_of(t, late, now))];
    v.parked_polls += roll_[t].poll != call_id{};
  }
  v.barriers_running = barriers_.running().size();
  v.barriers_remembered = barriers_.finished().size();
  v.keys = store_.all().size();
  v.key_bytes = store_.bytes();
  v.parked_key_waits = store_.waiting_calls();
  v.parked_watches = watchers_.size();
  v.parked_calls = parked_.size();
  return v;
}

std::string standalone_service::broken_barrier(barrier_type const& b) const {
  if (!b.running) return "barrier " + b.id + " is listed as running and is not";
  std::size_t arrived = 0;
  for (std::size_t i = 0; i < b.calls.size(); ++i) {
    if (b.calls[i] == call_id{}) continue;
    ++arrived;
    auto const* p = parked_.find(b.calls[i]);
    if (!p || p->kind != wait_kind::barrier || p->barrier != &b || p->task != (*b.who)[i])
      return "barrier " + b.id + " holds a call that is not parked there";
  }
  if (std::size_t(std::count(b.gave_up.begin(), b.gave_up.end(), true)) != b.gave_up_count)
    return "barrier " + b.id + " miscounts who gave up";
  if (arrived != b.arrived_count) return "barrier " + b.id + " miscounts its arrivals";
  if (arrived == b.who->size()) return "barrier " + b.id + " is complete and still runs";
  return {};
}

std::string standalone_service::broken_parking() const {
  std::size_t held = watchers_.size(), waiting = 0;
  for (auto const* b : barriers_.running()) held += b->arrived_count;
  for (auto const& a : roll_.all()) held += a.poll != call_id{};
  for (auto const& [key, calls] : store_.waiting()) {
    if (calls.empty()) return "nobody waits for key " + key;
    if (store_.find(key)) return "key " + key + " exists and is waited for";
    held += calls.size();
    waiting += calls.size();
  }
  if (waiting != store_.waiting_calls()) return "the waits for keys are miscounted";
  for (auto const& [who, w] : alive_) {
    if (w.calls.empty()) return "nobody waits to hear who is alive";
    held += w.calls.size();
  }
  if (held != parked_.size())
    return std::to_string(parked_.size()) + " calls are parked, " + std::to_string(held) +
           " are waited for";
  return {};
}

std::string standalone_service::violated_invariant() const {
  std::size_t connected = 0, in_error = 0, ever_connected = 0;
  for (task_index t = 0; t < roll_.size(); ++t) {
    auto const& a = roll_[t];
    connected += a.state == agent_state::connected;
    in_error += a.state == agent_state::error;
    ever_connected += a.ever_connected;
    if ((a.state == agent_state::error) != (a.error != nullptr))
      return task_name(t) + " is in error without an error, or the other way round";
    if (a.poll != call_id{} && !parked_.find(a.poll)) return task_name(t) + "'s poll is lost";
  }
  if (connected != connected_ || connected != roll_.beating().size())
    return "the connected tasks are miscounted";
  if (in_error != in_error_ || ever_connected != ever_connected_)
    return "the tasks in error or once connected are miscounted";
  if (!std::is_sorted(roll_.beating().begin(), roll_.beating().end(), [this](auto l, auto r) {
        return roll_[l].last_heartbeat < roll_[r].last_heartbeat;
      }))
    return "heartbeats are out of order";
  for (auto const* b : barriers_.running())
    if (auto broken = broken_barrier(*b); !broken.empty()) return broken;
  for (auto const* b : barriers_.finished())
    if (b->running || !b->calls.empty()) return "barrier " + b->id + " has ended and holds calls";
  if (barriers_.finished().size() > limits_.finished_barriers_max)
    return "more finished barriers are remembered than allowed";
  return broken_parking();
}

}  // namespace muster::core::coordination
