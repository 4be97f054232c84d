// Either all closures of a gang get idle slots in the same step, or no closure of the gang gets a
// slot. The plan is greedy and starts with the emptiest worker. Once a gang's patience has ended,
// its candidate workers receive no new closures, provided that these workers together are large
// enough.
#include <algorithm>

#include "server/core/scheduling/scheduler.hpp"

namespace muster::core {

namespace {

constexpr std::size_t gang_name_bytes_max = 256;

struct room {
  worker_slots* w = nullptr;
  std::uint32_t slots = 0;
  resource_amounts free;
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

// Returns all resources except those lent to ranks, which can run for days.
resource_amounts besides_ranks(worker_slots const& w) {
  auto left = w.resources;
  for (auto const& [name, amount] : w.lent)
    for (auto& [of, has] : left)
      if (of == name) has -= amount;
  return left;
}

// Returns whether the dependencies of the request contain a cycle. Each gang is one node, as is
// each closure without a gang; an edge leads to each input.
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
      if (input.closure != closure_id{}) continue;  // created by an earlier request
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

status scheduler::valid_gangs(std::vector<closure_spec> const& specs) {
  std::map<std::string_view, std::size_t> sizes;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (!specs[i].extras || specs[i].extras->options.gang.empty()) continue;
    auto const& name = specs[i].extras->options.gang;
    auto const at = "closures[" + std::to_string(i) + "].options.gang";
    if (name.size() > gang_name_bytes_max)
      return wrong_field(at,
                         std::to_string(name.size()) + " bytes, the limit is " +
                             std::to_string(gang_name_bytes_max),
                         gang_name_bytes_max);
    if (++sizes[name] > gang_table::size_max)
      return wrong_field(
          at, "more than " + std::to_string(gang_table::size_max) + " closures in one gang",
          gang_table::size_max);
  }
  if (sizes.empty() || !waits_for_itself(specs)) return {};
  return wrong_field("options.gang",
                     "the gang waits for itself: one of its closures needs, directly or "
                     "indirectly, the result of another closure of the gang");
}

std::vector<std::pair<slot, worker_slots*>> scheduler::plan(gang const& g, bool idle) const {
  std::vector<room> rooms;
  auto const add = [&](worker_slots& w) {
    if (!w.open || !w.placed ||
        (idle && (w.shut & (worker_slots::reserved_for_exclusive | worker_slots::runs_exclusive))))
      return;
    auto const used = idle ? w.held() : 0;
    if (used < w.slots) rooms.push_back({&w, w.slots - used, idle ? w.free : besides_ranks(w)});
  };
  if (idle) {
    for_each_idle(add);
    for (auto const stream : reserved_)
      if (auto* w = find(stream)) add(*w);
  } else {
    for (auto const& [stream, w] : workers_) add(*w);
  }
  std::sort(rooms.begin(), rooms.end(),
            [](room const& a, room const& b) { return a.w->stream < b.w->stream; });
  std::vector<std::pair<slot, worker_slots*>> chosen;
  if (rooms.empty()) return chosen;
  for (auto const m : g.members) {
    slot const c = closures_.find(m);
    auto const& l = queue_of(c);
    requirement needs;
    if (l.requirement != 0) needs = requirements_[l.requirement];
    auto const besides_resources = needs.besides_resources();
    room* best = nullptr;
    for (auto& r : rooms) {
      if (r.slots == 0 || (best && r.slots <= best->slots)) continue;
      if (!r.w->placed->has_function(l.function) || !satisfies(*r.w, besides_resources)) continue;
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

void scheduler::keep_free(std::vector<stream_id> wanted) {
  if (wanted == reserved_) return;
  auto const mark = [this](std::vector<stream_id> const& streams, bool reserved) {
    for (auto const stream : streams)
      if (auto* w = find(stream)) {
        if (reserved)
          w->shut |= worker_slots::for_gang;
        else
          w->shut &= static_cast<std::uint8_t>(~worker_slots::for_gang);
        update(*w);
      }
  };
  mark(reserved_, false);
  reserved_ = std::move(wanted);
  mark(reserved_, true);
}

}  // namespace muster::core
