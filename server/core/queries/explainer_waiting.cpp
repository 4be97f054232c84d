// Finds gangs and queued closures that wait for missing workers.
#include <algorithm>
#include <map>

#include "server/core/queries/explainer.hpp"

namespace muster::core {

namespace {

/// Maximum number of workers visited per call. The visits take about a millisecond.
constexpr std::size_t looks_max = 50'000;
/// Maximum number of session queues visited per call.
constexpr std::size_t queues_max = 20'000;

}  // namespace

closure_options needs_of(requirement const& r) {
  closure_options o;
  o.task_job = r.job;
  o.task_index = r.index;
  o.labels = r.labels;
  o.resources = r.resources;
  return o;
}

gang_view explainer::view_of(gang const& g, bool fits) const {
  gang_view v;
  v.waits = wait_of(g, fits);
  v.first = g.members.front();
  slot const c = core_.closures.find(v.first);
  if (c == no_slot) return v;  // the closure finished in this step
  auto const& r = core_.closures[c];
  v.job = core_.sessions.of(r.owner).id;
  v.function = core_.book.functions[r.function].name;
  v.since = r.created;
  return v;
}

gangs_view explainer::gangs() const {
  gangs_view out;
  auto const& table = core_.scheduler.gangs;
  auto looks = looks_max;
  for (auto const& [id, g] : table.all()) {
    if (out.items.size() == gangs_view::max) break;
    bool const fits = !table.is_apart(id);
    auto& v = out.items.emplace_back(view_of(g, fits));
    slot const c = core_.closures.find(v.first);
    auto const cost = 4 * core_.registry.all().size();
    if (fits || c == no_slot || looks < cost) continue;
    looks -= cost;
    v.lack = without_worker(c);
  }
  out.more = table.all().size() - out.items.size();
  return out;
}

// A queue that no worker can serve costs a visit to each worker. The result for a function and
// requirement is therefore reused for all sessions.
unmet_demand_view explainer::unmet_demand() const {
  unmet_demand_view out;
  using key = std::pair<std::uint32_t, function_id>;  // requirement, function
  constexpr std::size_t met = ~std::size_t{0};
  std::map<key, std::size_t> found;             // index of a row, or `met`
  std::map<std::uint32_t, std::size_t> row_of;  // row index by requirement
  auto const workers = core_.registry.all().size();
  auto looks = looks_max;
  auto queues = queues_max;
  for (auto const& [id, s] : core_.sessions.all()) {
    for (auto const& l : core_.scheduler.queue(s->number).queues) {
      if (queues-- == 0) return out.complete = false, out;
      if (l.queue.size == 0) continue;
      auto const [at, fresh] = found.try_emplace({l.requirement, l.function}, met);
      if (fresh) {
        bool const served = std::any_of(
            core_.scheduler.all_workers().begin(), core_.scheduler.all_workers().end(),
            [&](auto const& entry) {
              looks -= looks > 0;
              auto const& w = *entry.second;
              auto const& of = core_.registry.of(w.number);
              return core_.scheduler.could_run_if_idle(w, l) && (of.serves() || of.away);
            });
        if (served) continue;
        if (looks < 4 * workers || out.items.size() == unmet_demand_view::max)
          return out.complete = false, out;
        looks -= 4 * workers;
        auto const known = l.requirement == 0 ? row_of.end() : row_of.find(l.requirement);
        at->second = known == row_of.end() ? out.items.size() : known->second;
        if (known == row_of.end()) {
          out.items.push_back(demand_of(l, id));
          row_of.emplace(l.requirement, at->second);
        }
        auto& functions = out.items[at->second].functions;
        if (functions.size() < demand_view::functions_max)
          functions.push_back(core_.book.functions[l.function].name);
      }
      if (at->second != met) out.items[at->second].queued += l.queue.size;
    }
  }
  return out;
}

demand_view explainer::demand_of(closure_queue const& l, session_id job) const {
  demand_view v;
  if (l.requirement != 0) v.needs = needs_of(core_.scheduler.required(l.requirement));
  slot const c = l.queue.front;
  auto const found = takers_of(l);
  v.workers = found.cordoned + found.draining;
  v.first = core_.closures.id_of(c);
  v.job = job;
  v.since = core_.closures[c].created;
  v.lack = without_worker(c).value_or(worker_shortage{closure_reason::unsatisfiable});
  return v;
}

}  // namespace muster::core
