// Gang placement: k closures get k idle slots in one step, or none gets any. The plan is greedy,
// the emptiest worker first. A gang that has waited for its patience has the workers that it could
// run on kept free of new closures, if all of them together are large enough.
#include <algorithm>

#include "base/check.hpp"
#include "server/core/coordinator_state.hpp"

namespace muster::core {

namespace {

constexpr std::size_t name_bytes_max = 256;

/// What is left of a worker while a plan is made.
struct room {
  worker* w = nullptr;
  std::uint32_t slots = 0;
  std::vector<std::pair<std::string, std::uint32_t>> free;
};

bool take_resources(room& r, requirement const& needs) {
  auto left = r.free;
  for (auto const& [name, amount] : needs.resources) {
    auto const has = std::find_if(left.begin(), left.end(),
                                  [&, &wanted = name](auto const& p) { return p.first == wanted; });
    if (has == left.end() || has->second < amount) return false;
    has->second -= amount;
  }
  r.free = std::move(left);
  return true;
}

// A gang is one node, as is a closure without one; an edge goes to what an input comes from. Takes
// away nodes that need nothing that is left; what cannot be taken away waits for itself.
bool waits_for_itself(std::vector<closure_spec> const& specs) {
  std::map<std::string_view, std::size_t> node_of_gang;
  std::vector<std::size_t> node_of(specs.size());
  std::size_t nodes = 0;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    auto const* x = specs[i].extras.get();
    if (!x || x->options.gang.empty()) {
      node_of[i] = nodes++;
      continue;
    }
    auto const [it, added] = node_of_gang.try_emplace(x->options.gang, nodes);
    nodes += added;
    node_of[i] = it->second;
  }
  std::vector<std::size_t> needs(nodes);
  std::vector<std::vector<std::size_t>> needed_by(nodes);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (!specs[i].extras) continue;
    for (auto const& input : specs[i].extras->inputs) {
      if (input.closure != closure_id{}) continue;  // of an earlier request
      ++needs[node_of[i]];
      needed_by[node_of[input.position]].push_back(node_of[i]);
    }
  }
  std::vector<std::size_t> free;
  for (std::size_t n = 0; n < nodes; ++n)
    if (needs[n] == 0) free.push_back(n);
  std::size_t taken = 0;
  for (; !free.empty(); ++taken) {
    auto const n = free.back();
    free.pop_back();
    for (auto const m : needed_by[n])
      if (--needs[m] == 0) free.push_back(m);
  }
  return taken < nodes;
}

}  // namespace

status coordinator::state::valid_gangs(std::vector<closure_spec> const& specs) const {
  std::map<std::string_view, std::size_t> sizes;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (!specs[i].extras || specs[i].extras->options.gang.empty()) continue;
    auto const& name = specs[i].extras->options.gang;
    auto const at = "closures[" + std::to_string(i) + "].options.gang: ";
    if (name.size() > name_bytes_max)
      return {code::invalid_argument, at + std::to_string(name.size()) + " bytes, the limit is " +
                                          std::to_string(name_bytes_max)};
    if (++sizes[name] > gang_table::size_max)
      return {code::invalid_argument,
              at + "more than " + std::to_string(gang_table::size_max) + " closures in one gang"};
  }
  if (sizes.empty() || !waits_for_itself(specs)) return {};
  return {code::invalid_argument,
          "options.gang: a gang waits for itself, since one of its closures needs the output of "
          "another, or of one that does"};
}

void coordinator::state::form_gangs(session const& s, std::vector<closure_spec> const& specs) {
  for (auto const& spec : specs) {
    if (!spec.extras || spec.extras->options.gang.empty()) continue;
    if (s.spec.hold_values && s.by_token.contains(spec.token)) continue;  // it is in its gang
    auto const [it, added] = gangs.forming.try_emplace(spec.extras->options.gang, gangs.last + 1);
    if (added) gangs.all[++gangs.last].name = it->first;
    ++gangs.all[it->second].size;
  }
}

void coordinator::state::join_gang(slot c) {
  auto& d = *closures[c].details;
  d.gang = gangs.forming.at(d.extras->options.gang);
  gangs.all.at(d.gang).members.push_back(closures.id_of(c));
}

void coordinator::state::wait_for_gang(slot c) {
  auto& r = closures[c];
  auto& s = *r.owner;
  ++functions[s.lanes[r.lane].function].waiting;
  r.ganged = true;
  set_apart(c);
  auto& g = gangs.all.at(r.details->gang);
  if (++g.ready < g.size) return;
  g.impatient_at = now + gang_table::patience;
  alarms.set(g.impatient_at, alarm_kind::gang, r.details->gang);
  gangs.waiting.push_back(r.details->gang);
}

void coordinator::state::forget_gang(std::uint64_t id) {
  auto const it = gangs.all.find(id);
  if (!it->second.impatient && it->second.impatient_at != never)
    alarms.clear(it->second.impatient_at, alarm_kind::gang, id);
  if (!gangs.waiting.empty() && gangs.waiting.front() == id) keep_free({});
  std::erase(gangs.waiting, id);
  gangs.all.erase(it);
}

// Called for a member that ends before it has started.
void coordinator::state::break_gang(slot c) {
  auto& d = *closures[c].details;
  auto const id = std::exchange(d.gang, 0);
  if (gangs.all.contains(id)) gangs.broken.emplace_back(id, closures.id_of(c));
}

void coordinator::state::tell_gangs() {
  while (!gangs.broken.empty()) {
    auto const [id, culprit] = gangs.broken.back();
    gangs.broken.pop_back();
    auto const it = gangs.all.find(id);
    if (it == gangs.all.end()) continue;
    auto const why = "its gang '" + it->second.name + "' cannot start: " + text(culprit) +
                     " ended before the others could";
    auto const members = it->second.members;
    forget_gang(id);
    for (auto const m : members) {
      slot const c = closures.find(m);
      if (c == no_slot || ended(closures[c].state)) continue;
      closures[c].details->gang = 0;
      cancel(c, why);
    }
  }
}

// Which worker would run which member. `idle`: with what is free now; else with all that they have.
std::vector<std::pair<slot, worker*>> coordinator::state::plan(gang const& g, bool idle) {
  std::vector<room> rooms;
  auto const add = [&](worker& w) {
    if (!w.serves() || w.waiting || !w.placed) return;
    auto const used = idle ? w.holds.size : 0;
    if (used < w.slots)
      rooms.push_back({&w, w.slots - used, idle ? w.free : w.task->spec.resources});
  };
  if (idle) {
    placement.for_each_idle(add);
    for (auto const stream : gangs.reserved)
      if (auto* w = find_worker(stream)) add(*w);
  } else {
    for (auto const& [stream, w] : workers) add(*w);
  }
  std::sort(rooms.begin(), rooms.end(),
            [](room const& a, room const& b) { return a.w->stream < b.w->stream; });
  std::vector<std::pair<slot, worker*>> chosen;
  if (rooms.empty()) return chosen;
  for (auto const m : g.members) {
    slot const c = closures.find(m);
    auto const& l = closures[c].owner->lanes[closures[c].lane];
    requirement needs;
    if (l.requirement != 0) needs = requirements[l.requirement];
    auto const apart_from_resources =
        requirement{needs.job, needs.index, needs.labels, {}, needs.per_worker};
    room* best = nullptr;
    for (auto& r : rooms) {
      if (r.slots == 0 || (best && r.slots <= best->slots)) continue;
      if (!r.w->placed->has_function(l.function) || !satisfies(*r.w, apart_from_resources))
        continue;
      auto trial = r;
      if (take_resources(trial, needs)) best = &r;
    }
    if (!best) return {};
    take_resources(*best, needs);
    --best->slots;
    chosen.emplace_back(c, best->w);
  }
  return chosen;
}

void coordinator::state::start_gangs() {
  std::vector<std::uint64_t> tried;
  for (auto const id : gangs.waiting) {
    tried.push_back(id);
    if (tried.size() == gang_table::tries_max) break;
  }
  for (auto const id : tried) {
    auto& g = gangs.all.at(id);
    auto const chosen = plan(g, true);
    if (!chosen.empty()) {
      forget_gang(id);
      for (auto const& [c, w] : chosen) start_member(*w, c);
    } else if (id == gangs.waiting.front() && g.impatient) {
      std::vector<stream_id> wanted;
      for (auto const& [c, w] : plan(g, false)) wanted.push_back(w->stream);
      std::sort(wanted.begin(), wanted.end());
      wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
      keep_free(std::move(wanted));
    }
  }
}

void coordinator::state::start_member(worker& w, slot c) {
  auto& r = closures[c];
  auto& f = functions[r.owner->lanes[r.lane].function];
  end_apart(c);
  r.ganged = false;
  r.details->gang = 0;
  --f.waiting, ++f.queued;
  auto const first = static_cast<std::uint32_t>(fx.assignments.size());
  assign(w, c);
  fx.dispatches.push_back({w.stream, first, 1});
  placement.update(w);
}

void coordinator::state::keep_free(std::vector<stream_id> wanted) {
  if (wanted == gangs.reserved) return;
  auto const mark = [this](std::vector<stream_id> const& streams, bool reserved) {
    for (auto const stream : streams)
      if (auto* w = find_worker(stream)) {
        w->reserved = reserved;
        if (w->placed) placement.update(*w);
      }
  };
  mark(gangs.reserved, false);
  gangs.reserved = std::move(wanted);
  mark(gangs.reserved, true);
}

// For explain; the closure waits for its gang.
std::string coordinator::state::why_gang_waits(gang const& g) {
  auto const of = std::to_string(g.size) + " closures of gang '" + g.name + "'";
  if (g.ready < g.size)
    return std::to_string(g.size - g.ready) + " of the " + of + " are not ready to start yet";
  if (plan(g, false).empty())
    return "the connected workers have no room for the " + of + " at one time, even when idle";
  return "the " + of + " wait until as many slots are idle at one time";
}

}  // namespace muster::core
