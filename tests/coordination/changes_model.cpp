#include "tests/coordination/changes_model.hpp"

#include "base/check.hpp"

namespace muster::core::coordination {

void changes_model::fold(cluster_id id, cluster_declared const& c) {
  auto& of = clusters_[id];
  of.spec = *c.spec;
  of.next.reset();
  if (c.next) of.next = *c.next;
}

void changes_model::fold(cluster_id id, cluster_removed const&) {
  check(clusters_.erase(id) == 1, "what goes was there");
}

void changes_model::fold(cluster_id id, generation_begun const& c) {
  auto& of = clusters_.at(id);
  of.current = {};
  of.current.number = c.number;
  of.current.incarnation = c.incarnation;
  of.barriers.clear();
  of.tasks.clear();
  if (!c.keeps_keys) of.keys.clear();
  for (std::size_t j = 0; j < of.spec.jobs.size(); ++j) {
    auto const [first, end] = of.spec.tasks_of(j);
    for (auto t = first; t < end; ++t) {
      of.tasks[t].is.task = t;
      of.tasks[t].is.recoverable = of.spec.recoverable || of.spec.jobs[j].recoverable;
    }
  }
}

void changes_model::fold(cluster_id id, generation_changed const& c) {
  auto& of = clusters_.at(id).current;
  of.started = c.started;
  of.ended = c.ended;
  of.failed = c.failed;
  of.refuses = c.refuses;
}

void changes_model::fold(cluster_id id, cause_found const& c) {
  clusters_.at(id).current.cause = c.cause;
  clusters_.at(id).current.cause_task = c.task;
}

void changes_model::fold(cluster_id id, victim_found const& c) {
  clusters_.at(id).current.victims.insert(c.task);
}

void changes_model::fold(cluster_id id, error_delivered const& c) {
  clusters_.at(id).current.told = c.told;
}

void changes_model::fold(cluster_id id, task_waits const& c) {
  clusters_.at(id).tasks.at(c.task).registering = c.as;
}

void changes_model::fold(cluster_id id, task_registered const& c) {
  auto& of = clusters_.at(id).tasks.at(c.task);
  check(!c.anew || of.is.state == agent_state::connected, "who takes a place finds one");
  of.is.state = agent_state::connected;
  of.is.incarnation = c.incarnation;
  of.is.registered_at = c.at;
  if (c.anew) return;
  of.is.ever_connected = true;
  of.is.error = nullptr;
  of.is.casualty = false;
  of.registering.reset();
}

void changes_model::fold(cluster_id id, task_failed const& c) {
  auto& of = clusters_.at(id).tasks.at(c.task).is;
  of.state = agent_state::error;
  of.error = c.error;
  of.casualty = c.casualty;
}

void changes_model::fold(cluster_id id, task_left const& c) {
  auto& of = clusters_.at(id).tasks.at(c.task).is;
  of.state = agent_state::disconnected;
  of.error = nullptr;
  of.casualty = false;
  of.grace_until = c.grace_until;
}

void changes_model::fold(cluster_id id, task_addressed const& c) {
  clusters_.at(id).tasks.at(c.task).peer = c.peer;
}

void changes_model::fold(cluster_id id, devices_brought const& c) {
  clusters_.at(id).tasks.at(c.task).devices = c.count;
}

void changes_model::fold(cluster_id id, notice_changed const& c) {
  auto& of = clusters_.at(id).tasks.at(c.task);
  check(of.notices == c.from, "it was in the state that it leaves");
  of.notices = c.to;
  of.is.hears_notices = c.to != notice_state::never;
}

void changes_model::fold(cluster_id id, barrier_begun const& c) {
  auto& of = clusters_.at(id).barriers[c.barrier];
  of = {};
  of.id = c.id;
  of.counter = c.counter;
  of.purpose = c.purpose;
  of.who = *c.who;
  of.started = of.waiting_since = c.started;
  of.deadline = c.deadline;
}

changes_model::barrier& changes_model::running(cluster_id id, barrier_number n) {
  auto& of = clusters_.at(id).barriers.at(n);
  check(of.running, "what is said is of a barrier that runs");
  return of;
}

void changes_model::fold(cluster_id id, barrier_moved const& c) {
  auto& of = running(id, c.barrier);
  if (c.how == barrier_move::gave_up) {
    of.gave_up.insert(c.task);
  } else if (c.how == barrier_move::came) {
    if (of.first == no_task) of.first = c.task;
    if (of.there.empty()) of.waiting_since = c.at;
    of.there[c.task] = c.at;
    of.gave_up.erase(c.task);
  } else {
    check(of.there.erase(c.task) == 1, "who goes had come");
  }
}

void changes_model::fold(cluster_id id, barrier_due const& c) {
  running(id, c.barrier).deadline = c.deadline;
}

void changes_model::fold(cluster_id id, barrier_ended const& c) {
  auto& of = running(id, c.barrier);
  if (c.counter < 0) {
    clusters_.at(id).barriers.erase(c.barrier);
    return;
  }
  if (c.how == barrier_outcome::passed)
    check(of.there.size() == of.who.size(), "everybody had come");
  of.counter = c.counter;
  of.result = c.result;
  of.ended = c.ended;
  of.arrived = c.arrived;
  of.running = false;
  of.there.clear();
  of.gave_up.clear();
}

void changes_model::fold(cluster_id id, barrier_forgotten const& c) {
  check(clusters_.at(id).barriers.erase(c.barrier) == 1, "what is forgotten was there");
}

void changes_model::fold(cluster_id id, key_changed const& c) {
  auto& keys = clusters_.at(id).keys;
  if (c.is.value)
    keys[c.is.key] = c.is;
  else
    check(keys.erase(c.is.key) == 1, "a key that goes was there");
}

std::string changes_model::difference(cluster const& told, cluster const& is) {
  if (told.spec != is.spec || told.next != is.next) return "its declaration";
  if (told.current != is.current) return "its generation";
  for (auto const& [t, now] : is.tasks)
    if (auto const it = told.tasks.find(t); it == told.tasks.end() || it->second != now)
      return "task " + std::to_string(t);
  if (told.tasks.size() != is.tasks.size()) return "a task that is gone";
  for (auto const& [n, now] : is.barriers)
    if (auto const it = told.barriers.find(n); it == told.barriers.end() || it->second != now)
      return "barrier " + now.id;
  if (told.barriers.size() != is.barriers.size()) return "a barrier that is gone";
  for (auto const& [key, now] : is.keys)
    if (auto const it = told.keys.find(key); it == told.keys.end() || it->second != now)
      return "key " + key;
  return told.keys.size() == is.keys.size() ? std::string() : "a key that is gone";
}

std::string changes_model::difference(class clusters const& core) const {
  changes_model now;
  now.fold(core.whole());
  if (clusters_.size() != now.clusters_.size())
    return "a cluster came or went, and nothing said so";
  for (auto const& [id, is] : now.clusters_) {
    auto const it = clusters_.find(id);
    if (it == clusters_.end())
      return "cluster '" + is.spec.name + "' is there, and nothing said so";
    if (auto const what = difference(it->second, is); !what.empty())
      return "of cluster '" + is.spec.name + "', " + what + " is not what its changes say";
  }
  return {};
}

}  // namespace muster::core::coordination
