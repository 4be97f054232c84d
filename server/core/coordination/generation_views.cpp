#include "server/core/coordination/generation_views.hpp"

#include <algorithm>

namespace muster::core::coordination {
namespace {

constexpr std::size_t waits_shown = 8;
constexpr std::size_t waiters_shown = 100;

}  // namespace

// Returns for each task the barrier that it has delayed for too long, or null. If a task delays
// several barriers, selects the barrier with the longest wait.
generation_views::late_for generation_views::late_tasks(time_point now, duration late_after) const {
  late_for late(registry.size());
  for (auto const n : barriers.running()) {
    auto const* b = barriers.find(n);
    if (b->purpose != barrier_purpose::user || b->arrived_count == 0 ||
        b->waiting_since + late_after > now)
      continue;
    for (std::size_t i = 0; i < b->who->size(); ++i)
      if (auto& l = late[(*b->who)[i]];
          b->calls[i] == call_id{} && (!l || b->waiting_since < l->waiting_since))
        l = b;
  }
  return late;
}

agent_health generation_views::health_of(task_index t, late_for const& late, time_point now) const {
  auto const& a = registry[t];
  if (a.state == agent_state::error) return agent_health::error;
  if (a.state == agent_state::disconnected)
    return a.registering      ? agent_health::registering
           : a.ever_connected ? agent_health::disconnected
                              : agent_health::missing;
  auto const overdue = a.alive_at + spec.heartbeat_timeout / 4 * 3 < now;
  return late[t] || overdue ? agent_health::late : agent_health::connected;
}

agent_view generation_views::agent_of(task_index t, late_for const& late, time_point now) const {
  auto const& a = registry[t];
  agent_view v;
  v.task = t;
  auto const [job, index] = spec.place(t);
  v.job = spec.jobs[job].name;
  v.index = index;
  v.incarnation = a.registering.value_or(a.incarnation);
  v.peer = a.peer;
  v.recoverable = a.recoverable;
  v.registered_at = a.registered_at;
  v.unheard = a.unheard();
  if (!v.unheard) v.last_heartbeat = a.alive_at;
  v.devices = devices.count(t);
  v.device_names = devices.names(t);
  v.error = a.error;
  v.casualty = a.casualty;
  v.health = health_of(t, late, now);
  if (v.health == agent_health::late && late[t]) {
    v.late_for = late[t]->id;
    v.late_since = late[t]->waiting_since;
  }
  return v;
}

std::vector<agent_view> generation_views::tasks(time_point now, std::size_t after,
                                                std::size_t limit,
                                                std::optional<duration> late_after) const {
  std::vector<agent_view> views;
  if (after >= registry.size()) return views;
  auto const late = late_tasks(now, late_after.value_or(spec.stuck_after));
  auto const end = after + std::min(limit, registry.size() - after);
  views.reserve(end - after);
  for (auto t = after; t < end; ++t)
    views.push_back(agent_of(static_cast<task_index>(t), late, now));
  add_waits(views, after);
  return views;
}

void generation_views::add_waits(std::vector<agent_view>& views, std::size_t after) const {
  auto const note = [&](task_index t, char const* what, std::string const& which,
                        time_point since) {
    if (t < after || t - after >= views.size()) return;
    auto& v = views[t - after];
    v.waits_since = std::min(v.waits_since, since);
    if (v.waiting_for.size() < waits_shown) v.waiting_for.push_back(what + which);
  };
  for (auto const n : barriers.running()) {
    auto const* b = barriers.find(n);
    auto const& who = *b->who;
    auto const first = std::lower_bound(who.begin(), who.end(), after) - who.begin();
    for (auto i = static_cast<std::size_t>(first); i < who.size() && who[i] - after < views.size();
         ++i)
      if (b->calls[i] != call_id{}) note(who[i], "barrier ", b->id, b->came[i]);
  }
  for (auto const& [key, id] : store.waiting())
    for (auto const& [call, w] : store.waiting_at(id))
      note(calls.find(call)->task, "key ", key, calls.find(call)->since);
}

barrier_view generation_views::view_of(coordination::barrier const& b, bool with_tasks) const {
  barrier_view v;
  v.id = b.id;
  v.purpose = b.purpose;
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
  v.first = b.first == no_task ? std::string() : spec.task_name(b.first);
  if (!with_tasks || !b.running) return v;
  for (std::size_t i = 0; i < b.who->size(); ++i) {
    auto const t = (*b.who)[i];
    if (b.calls[i] != call_id{})
      v.arrived.push_back({spec.task_name(t), b.came[i]});
    else
      v.missing.push_back({t, spec.task_name(t), registry[t].peer,
                           registry[t].unheard() ? time_point{} : registry[t].last_message_at()});
  }
  return v;
}

std::vector<barrier_view> generation_views::barriers_from(std::size_t after,
                                                          std::size_t limit) const {
  std::vector<barrier_view> views;
  std::size_t skipped = 0;
  auto const add = [&](coordination::barrier const& b) {
    if (skipped++ < after) return true;
    if (views.size() == limit) return false;
    views.push_back(view_of(b, false));
    return true;
  };
  for (auto const n : barriers.running())
    if (!add(barriers.at(n))) return views;
  for (auto it = barriers.finished().rbegin(); it != barriers.finished().rend(); ++it)
    if (!add(barriers.at(*it))) return views;
  return views;
}

std::optional<barrier_view> generation_views::barrier(std::string_view id) const {
  auto const* b = barriers.find(id);
  if (!b) return {};
  return view_of(*b, true);
}

std::vector<key_view> generation_views::keys(std::string_view prefix, std::string_view after,
                                             std::size_t limit) const {
  std::vector<key_view> views;
  auto const& all = store.all();
  auto it = after > prefix ? all.upper_bound(after) : all.lower_bound(prefix);
  for (; it != all.end() && it->first.starts_with(prefix) && views.size() < limit; ++it)
    views.push_back({it->first, it->second.value, it->second.changed});
  return views;
}

std::optional<key_view> generation_views::key(std::string_view key) const {
  auto const normal = normal_key(key);
  auto const* e = store.find(normal);
  if (!e) return {};
  return key_view{normal, e->value, e->changed};
}

std::vector<key_wait_view> generation_views::key_waits(std::string_view prefix,
                                                       std::size_t limit) const {
  std::vector<key_wait_view> views;
  auto const& all = store.waiting();
  for (auto it = all.lower_bound(prefix);
       it != all.end() && it->first.starts_with(prefix) && views.size() < limit; ++it) {
    auto const& waiting = store.waiting_at(it->second);
    key_wait_view v{it->first, {}, waiting.size()};
    for (auto const& [call, w] : waiting) {
      if (v.waiters.size() == waiters_shown) break;
      auto const& c = *calls.find(call);
      v.waiters.push_back(
          {c.task == no_task ? w.peer : spec.task_name(c.task), c.since, c.deadline});
    }
    views.push_back(std::move(v));
  }
  return views;
}

void generation_views::count(time_point now, generation_view& into) const {
  auto const late = late_tasks(now, spec.stuck_after);
  for (task_index t = 0; t < registry.size(); ++t) {
    auto const health = health_of(t, late, now);
    ++into.by_health[static_cast<std::size_t>(health)];
    into.unheard += health == agent_health::connected && registry[t].unheard();
  }
}

}  // namespace muster::core::coordination
