#include "server/core/coordination/tasks/task_registry.hpp"

#include <algorithm>

namespace muster::core::coordination {
namespace {

// Erases the entry, unless another task has taken over the key.
template <class Key>
void forget(std::unordered_map<Key, task_index>& index, Key const& key, task_index t) {
  auto const it = index.find(key);
  if (it != index.end() && it->second == t) index.erase(it);
}

}  // namespace

task_registry::task_registry(cluster_spec const& spec, change_log log)
    : tasks_(spec.size()), log_(log) {
  task_index t = 0;
  for (auto const& job : spec.jobs)
    for (std::uint32_t i = 0; i < job.tasks; ++i, ++t) {
      tasks_[t].task_fact::task = t;
      tasks_[t].recoverable = spec.recoverable || job.recoverable;
    }
}

std::vector<task_status> task_registry::statuses(task_index first, task_index end) const {
  std::vector<task_status> all;
  all.reserve(end - first);
  for (auto t = first; t < end; ++t) all.push_back(status_of(t));
  return all;
}

static void forget_beats(task& a) {
  a.beat_at = {};
  a.beat_interval = {};
}

void task_registry::connect(task_index t, core::incarnation i, time_point now) {
  auto& a = tasks_[t];
  if (a.state == agent_state::connected)
    stop_beating(t);
  else
    ++connected_;
  if (a.state == agent_state::error) --in_error_;
  a.state = agent_state::connected;
  a.incarnation = i;
  a.registering = {};
  a.error = nullptr;
  a.casualty = false;
  if (!a.ever_connected) ++ever_connected_;
  a.ever_connected = true;
  a.registered_at = now;
  forget_beats(a);
  start_beating(t, now);
  ++version_;
  log_.note(task_registered{t, false, i, now});
}

void task_registry::replace(task_index t, core::incarnation i, time_point now) {
  tasks_[t].incarnation = i;
  tasks_[t].registered_at = now;
  forget_beats(tasks_[t]);
  ++version_;
  log_.note(task_registered{t, true, i, now});
}

bool task_registry::fail(task_index t, fault_ptr error, bool casualty, failed_why why) {
  auto& a = tasks_[t];
  if (a.state == agent_state::error) return false;
  if (a.state == agent_state::connected) {
    stop_beating(t);
    --connected_;
  }
  ++in_error_;
  a.casualty = casualty;
  a.state = agent_state::error;
  a.error = std::move(error);
  ++version_;
  log_.add<task_failed>(t, why, casualty, a.error);
  return true;
}

bool task_registry::disconnect(task_index t, time_point grace_until, left_why why) {
  auto& a = tasks_[t];
  if (a.state == agent_state::disconnected) return false;
  if (a.state == agent_state::connected) {
    stop_beating(t);
    --connected_;
  } else {
    --in_error_;
  }
  a.state = agent_state::disconnected;
  a.error = nullptr;
  a.casualty = false;
  a.grace_until = grace_until;
  ++version_;
  log_.note(task_left{t, why, grace_until});
  return true;
}

void task_registry::start_beating(task_index t, time_point now) {
  auto& a = tasks_[t];
  a.alive_at = now;
  a.beats_before = last_to_beat_;
  a.beats_after = no_task;
  (last_to_beat_ == no_task ? longest_silent_ : tasks_[last_to_beat_].beats_after) = t;
  last_to_beat_ = t;
}

void task_registry::stop_beating(task_index t) {
  auto const& a = tasks_[t];
  (a.beats_before == no_task ? longest_silent_ : tasks_[a.beats_before].beats_after) =
      a.beats_after;
  (a.beats_after == no_task ? last_to_beat_ : tasks_[a.beats_after].beats_before) = a.beats_before;
}

void task_registry::beat(task_index t, time_point now) {
  auto& a = tasks_[t];
  if (a.beat_at != time_point{}) a.beat_interval = now - a.beat_at;
  a.beat_at = now;
  keep_alive(t, now);
}

void task_registry::keep_alive(task_index t, time_point now) {
  if (t != last_to_beat_) {
    stop_beating(t);
    start_beating(t, now);
  }
  tasks_[t].alive_at = now;
}

void task_registry::forgive(duration lost, duration longest, time_point now) {
  for (auto t = longest_silent_; t != no_task; t = tasks_[t].beats_after) {
    auto& last = tasks_[t].alive_at;
    last = std::clamp(last + lost, now - longest, now);
  }
}

std::vector<task_index> task_registry::silent(time_point since) const {
  std::vector<task_index> found;
  for (auto t = longest_silent_; t != no_task && tasks_[t].alive_at <= since;
       t = tasks_[t].beats_after)
    found.push_back(t);
  return found;
}

void task_registry::identify(task_index t, core::incarnation i, std::string const& peer) {
  auto& a = tasks_[t];
  if (a.known_as != core::incarnation{}) forget(by_incarnation_, a.known_as, t);
  if (!a.peer.empty()) forget(by_peer_, a.peer, t);
  a.known_as = i;
  if (a.peer != peer) {
    a.peer = peer;
    log_.add<task_addressed>(t, peer);
  }
  if (i != core::incarnation{}) by_incarnation_[i] = t;
  if (!peer.empty()) by_peer_[peer] = t;
}

task_index task_registry::find(core::incarnation i, std::string const& peer) const {
  if (auto const it = by_incarnation_.find(i); it != by_incarnation_.end()) return it->second;
  auto const it = by_peer_.find(peer);
  return it == by_peer_.end() ? no_task : it->second;
}

bool task_registry::knows(core::incarnation i) const {
  return std::any_of(tasks_.begin(), tasks_.end(), [i](task const& a) {
    return (a.ever_connected && a.incarnation == i) || a.registering == i;
  });
}

std::vector<core::incarnation> task_registry::incarnations() const {
  std::vector<core::incarnation> known;
  for (auto const& a : tasks_) {
    if (a.ever_connected) known.push_back(a.incarnation);
    if (a.registering) known.push_back(*a.registering);
  }
  return known;
}

std::vector<std::string> task_registry::peers() const {
  std::vector<std::string> known;
  for (auto const& a : tasks_)
    if (!a.peer.empty()) known.push_back(a.peer);
  return known;
}

void task_registry::restore(task_fact const& f, time_point now) {
  auto& a = tasks_[f.task];
  static_cast<task_fact&>(a) = f;
  ever_connected_ += a.ever_connected;
  in_error_ += a.state == agent_state::error;
  if (a.state == agent_state::connected) {
    ++connected_;
    start_beating(f.task, now);
  }
  if (a.ever_connected) identify(f.task, a.incarnation, {});
  ++version_;
  log_.note(task_known{f});
}

void task_registry::write_state(change_log const& log) const {
  for (auto const& a : tasks_) {
    log.note(task_known{a});
    if (a.registering) log.note(task_waits{a.task_fact::task, a.registering});
    if (!a.peer.empty()) log.add<task_addressed>(a.task_fact::task, a.peer);
  }
}

std::string task_registry::violated_invariant() const {
  std::size_t connected = 0, in_error = 0, ever_connected = 0;
  for (task_index t = 0; t < size(); ++t) {
    auto const& a = tasks_[t];
    connected += a.state == agent_state::connected;
    in_error += a.state == agent_state::error;
    ever_connected += a.ever_connected;
    if ((a.state == agent_state::error) != (a.error != nullptr))
      return "task " + std::to_string(t) +
             " is in the state ERROR without an error, or has an error in another state";
  }
  std::size_t beating = 0;
  for (auto t = longest_silent_; t != no_task; t = tasks_[t].beats_after) {
    auto const next = tasks_[t].beats_after;
    if (next != no_task && tasks_[next].alive_at < tasks_[t].alive_at)
      return "the tasks are not sorted by their last sign of life";
    ++beating;
  }
  if (connected != connected_ || connected != beating)
    return "the number of connected tasks is wrong";
  if (in_error != in_error_ || ever_connected != ever_connected_)
    return "the number of tasks that are in error, or that have ever connected, is wrong";
  return {};
}

}  // namespace muster::core::coordination
