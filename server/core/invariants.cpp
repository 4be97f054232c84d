// Everything that must hold between two steps, recounted the slow way. Used by the simulator and
// the fuzzer after each step.
#include <algorithm>
#include <set>

#include "server/core/coordinator_state.hpp"

namespace muster::core {

namespace {
std::string broken(std::string const& what, std::uint64_t is, std::uint64_t should_be) {
  return what + ": " + std::to_string(is) + ", counted " + std::to_string(should_be);
}
}  // namespace

// Every place is held as often as something says that it ran there.
std::string coordinator::state::leaked_place() const {
  std::vector<std::uint32_t> held(places.used());
  for (auto const& [stream, w] : workers) ++held[w->place];
  for (slot c = 0; c < closures.used(); ++c) {
    auto const& r = closures[c];
    if (!r.owner) continue;
    if (r.place != place_table::none) ++held[r.place];
    if (r.details)
      for (auto const& a : r.details->lost) ++held[a.place];
  }
  for (std::uint32_t p = 0; p < held.size(); ++p)
    if (places[p].references != held[p])
      return broken("holders of place " + std::to_string(p), places[p].references, held[p]);
  return {};
}

// Each worker stands where what it has and what it is puts it, and nothing waits beside an idle
// one.
std::string coordinator::state::misplaced_worker() const {
  for (auto const& [stream, w] : workers) {
    auto const name = w->task->name();
    std::vector<std::uint32_t> satisfied;
    requirements.for_each([&](std::uint32_t number, requirement const& r) {
      if (satisfies(*w, r)) satisfied.push_back(number);
    });
    if (satisfied != w->satisfied || satisfied != w->placed->satisfied)
      return name + " stands in the wrong placement class";
    std::map<std::string, std::uint32_t> taken;
    for (slot c = w->holds.front; c != no_slot; c = closures[c].next) {
      auto const& l = closures[c].owner->lanes[closures[c].lane];
      if (l.single)
        for (auto const& [resource, amount] : requirements[l.requirement].resources)
          taken[resource] += amount;
    }
    for (auto const& [resource, amount] : w->free)
      for (auto const& [declared, all] : w->task->spec.resources)
        if (resource == declared && amount + taken[resource] != all)
          return broken(name + " has free " + resource, amount, all - taken[resource]);
    if (stopping || w->ready != readiness::idle) continue;
    for (auto const& [id, s] : sessions)
      for (auto const& l : s->lanes)
        if (l.queue.size > 0 && w->placed->can_run(l))
          return name + " is idle and " + text(id) + " has something for it";
  }
  return {};
}

std::string coordinator::state::miscounted_per_worker() const {
  std::map<per_worker_id, std::uint64_t> users;
  for (slot c = 0; c < closures.used(); ++c) {
    auto const& r = closures[c];
    if (r.owner && !ended(r.state) && r.details && r.details->extras)
      for (auto const id : r.details->extras->per_worker) ++users[id];
  }
  for (auto const& [id, v] : per_worker.all()) {
    if (v.users != users[id]) return broken("users of " + text(id), v.users, users[id]);
    if (v.released && v.users == 0) return text(id) + " is released, unused and kept";
    for (auto const& [task, part] : v.components) {
      if ((part.state == value_state::aborted) != (part.stream == stream_id{}))
        return text(id) + " is aborted beside a stream, or the other way round";
      if (part.build != closure_id{} && closures.find(part.build) == no_slot)
        return text(id) + " waits for a build that is gone";
    }
    users.erase(id);
  }
  for (auto const& [id, count] : users)
    if (count > 0) return text(id) + " is gone and somebody needs it";
  return {};
}

std::string coordinator::violated_invariant() const {
  auto const& st = *state_;
  closure_counts live;
  std::map<session_id, closure_counts> by_session;
  std::map<worker const*, std::uint32_t> held;
  std::map<session_id, std::uint32_t> apart, kept, tokens;
  std::size_t alive = 0, timed = 0;
  for (slot c = 0; c < st.closures.used(); ++c) {
    auto const& r = st.closures[c];
    if (!r.owner) continue;
    ++alive;
    if (r.owner == &st.builders) {
      if (r.state != closure_state::running || !r.worker) return "a build does not run";
      ++live.running;
      ++held[r.worker];
      continue;
    }
    auto const it = st.sessions.find(r.owner->id);
    bool const again = r.owner == &st.rebuilders;
    if (again && ended(r.state)) return "a closure that ran again is kept";
    if (!again && (it == st.sessions.end() || it->second.get() != r.owner))
      return "a closure belongs to a session that is gone";
    auto& counted = by_session[r.owner->id];
    if (r.state == closure_state::queued) ++live.queued, ++counted.queued;
    if (r.state == closure_state::blocked) {
      ++live.blocked, ++counted.blocked;
      if (!r.details || r.details->inputs_missing == 0)
        return text(st.closures.id_of(c)) + " is blocked and misses no input";
    }
    if ((r.delayed || r.ganged) && r.state != closure_state::queued)
      return "a closure that waits for its time or its gang is not queued";
    if (r.ganged && (!r.details || !st.gangs.all.contains(r.details->gang)))
      return "a closure waits for a gang that is gone";
    if (r.delayed || r.ganged || r.state == closure_state::blocked) ++apart[r.owner->id];
    timed += r.delayed;
    timed += r.details && r.details->deadline != never && !ended(r.state);
    if (r.state == closure_state::running) {
      ++live.running, ++counted.running;
      if (!r.worker) return "a running closure has no worker";
      ++held[r.worker];
    } else if (r.worker) {
      return "a closure that does not run is held by a worker";
    }
    if (r.owner->holding()) {
      if (ended(r.state)) ++kept[r.owner->id];
      if (r.token != 0 && closure_of(r.owner->id, r.token) != st.closures.id_of(c))
        return text(st.closures.id_of(c)) + " is not known by its token";
      tokens[r.owner->id] += r.token != 0;
    } else if (ended(r.state) && !r.owner->spec.keep_values)
      return "a finished closure of a streaming session is kept";
  }
  if (alive != st.closures.size()) return broken("closures", st.closures.size(), alive);
  if (live.queued != st.counts.queued) return broken("queued", st.counts.queued, live.queued);
  if (live.running != st.counts.running) return broken("running", st.counts.running, live.running);
  if (live.blocked != st.counts.blocked) return broken("blocked", st.counts.blocked, live.blocked);

  for (auto const& [stream, w] : st.workers) {
    if (w->stream != stream) return "a worker is listed under another stream";
    if (w->task->worker != w.get()) return "a worker is not the one its task names";
    if (!w->task->present()) return "an attached task is not present";
    if (w->holds.size != held[w.get()])
      return broken("held by " + w->task->name(), w->holds.size, held[w.get()]);
    if (w->holds.size > w->credits) return w->task->name() + " holds more than its credits";
    if (w->ready != w->wanted()) return w->task->name() + " stands in the wrong ring";
    if (w->counted != w->serves()) return w->task->name() + " is counted wrongly";
    if (w->away != (w->alarm != never)) return w->task->name() + " is away and nobody waits for it";
    if (w->away && w->task->state != task_state::late) return "an away task is not late";
    if (w->away && (w->holds.size == 0 || w->holds.size > w->slots))
      return broken("waiting for " + w->task->name(), w->holds.size, w->slots);
    timed += w->away;
    timed += w->waiting;
  }
  for (auto const& [key, t] : st.registry.rows())
    if (t->present() != (t->worker != nullptr))
      return t->name() + " is present without a worker, or the other way round";

  std::uint64_t bytes = 0;
  std::size_t held_back = 0;
  for (auto const& [id, s] : st.sessions) {
    auto const& counted = by_session[id];
    if (s->counts.queued != counted.queued)
      return broken(text(id) + " queued", s->counts.queued, counted.queued);
    if (s->counts.running != counted.running)
      return broken(text(id) + " running", s->counts.running, counted.running);
    if (s->counts.blocked != counted.blocked)
      return broken(text(id) + " blocked", s->counts.blocked, counted.blocked);
    if (s->apart.size != apart[id]) return broken(text(id) + " apart", s->apart.size, apart[id]);
    timed += s->deadline != never && !s->terminal();
    timed += s->lease_alarm != never;
    if (s->held.size != kept[id]) return broken(text(id) + " held", s->held.size, kept[id]);
    if (s->by_token.size() != tokens[id])
      return broken(text(id) + " tokens", s->by_token.size(), tokens[id]);
    if (s->holding() && !s->attached && !s->closed && s->lease_alarm == never)
      return text(id) + " has no client and no lease";
    if (s->closed && s->idle()) return text(id) + " is closed, idle and still there";
    if (s->terminal() && !s->idle()) return text(id) + " has ended and still has closures";
    if (s->idle() && s->spec.keep_values && s->sealed && !s->terminal())
      return text(id) + " has nothing left and has not ended";
    if (s->stopping && s->waiting() > 0) return text(id) + " is stopping and has a queue";
    if (s->spec.keep_values && s->counts.total() != s->closures.size())
      return broken(text(id) + " closures", s->counts.total(), s->closures.size());
    if (s->terminal() && !s->joins.empty()) return text(id) + " has ended and is waited for";
    timed += s->age_alarm != never;
    bytes += s->value_bytes;
    held_back += s->full;
  }
  if (bytes != st.value_bytes) return broken("value bytes", st.value_bytes, bytes);
  if (held_back != st.sessions_held_back)
    return broken("sessions held back", st.sessions_held_back, held_back);
  for (auto const& [id, g] : st.gangs.all) {
    timed += g.impatient_at != never && !g.impatient;
    if ((g.ready == g.size) !=
        (std::find(st.gangs.waiting.begin(), st.gangs.waiting.end(), id) != st.gangs.waiting.end()))
      return "gang '" + g.name + "' is ready and does not wait, or the other way round";
  }
  if ((held_back > 0) != (st.metrics.full_since != never))
    return "the time of a full queue does not run while one is full, or runs while none is";
  auto const& n = st.counts;
  if (st.metrics.total.count() != n.succeeded + n.failed + n.cancelled)
    return broken("times of ended closures", st.metrics.total.count(),
                  n.succeeded + n.failed + n.cancelled);
  if (st.metrics.queue_wait.count() < st.metrics.execution.count())
    return "more attempts were answered than sent";
  if (timed != st.alarms.size()) return broken("alarms", st.alarms.size(), timed);
  if (auto wrong = st.invalid_ledger(); !wrong.empty()) return wrong;
  if (!st.ended_inputs.empty()) return "an ended input was left untold";
  if (!st.unsettled.empty()) return "a session was left unsettled";
  if (auto leak = st.leaked_place(); !leak.empty()) return leak;
  if (auto misplaced = st.misplaced_worker(); !misplaced.empty()) return misplaced;
  if (auto wrong = st.miscounted_per_worker(); !wrong.empty()) return wrong;
  return st.placement.violated_invariant();
}

}  // namespace muster::core
