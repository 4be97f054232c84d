#include "server/core/queries/queue_queries.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "server/core/queries/explainer.hpp"

namespace muster::core {

namespace {

/// Maximum number of session queues visited per call.
constexpr std::size_t queues_visited_max = 20'000;
/// Maximum numbers of workers visited per call, to find out which entries can start, and to
/// describe the entries of the page. A thousand visits take about 20 microseconds.
constexpr std::size_t order_visits_max = 50'000, detail_visits_max = 200'000;
/// Number of visits to each worker that an explanation takes.
constexpr std::size_t explanation_visits = 4;

using demand = std::pair<std::uint32_t, function_id>;  // requirement, function

/// Closures with the same demand and priority, a single isolated closure, or a gang.
struct entry {
  queue_kind kind = queue_kind::closures;
  std::vector<closure_queue const*> queues;  // empty for a gang and for an isolated closure
  std::vector<session_id> jobs;
  gang const* members = nullptr;
  slot first = no_slot;
  std::uint64_t waiting = 0;
  std::size_t rank = ~std::size_t{0};  // number of entries that come first in the same job
  bool startable = false;
};

/// Returns how often the free resources suffice for one closure.
std::uint32_t times_free(resource_amounts const& free, requirement const& needs) {
  std::uint32_t times = ~0u;
  for (auto const& [name, amount] : needs.resources) {
    auto const has = std::find_if(free.begin(), free.end(),
                                  [&, &of = name](auto const& f) { return f.first == of; });
    times = std::min(times, has == free.end() || amount == 0 ? 0 : has->second / amount);
  }
  return times;
}

/// Collects the entries of one call.
class queue_walk {
 public:
  explicit queue_walk(engine_state const& core) : core_(core) {}

  void visit_gangs();
  void visit_isolated();
  void visit_sessions();
  /// Returns all entries in the order of dispatch.
  std::vector<entry const*> in_order() const;
  bool complete() const { return complete_; }
  /// Returns the number of closures in queues, and of gang members and isolated closures that could
  /// start.
  std::uint64_t ready() const { return ready_; }

 private:
  bool can_start(closure_queue const& l);
  entry& entry_of(closure_queue const& l);
  bool precedes(closure_queue const& a, closure_queue const& b) const;

  engine_state const& core_;
  std::size_t visits_ = order_visits_max;
  bool complete_ = true;
  std::uint64_t ready_ = 0;
  std::vector<entry> gangs_, isolated_;
  std::map<std::pair<demand, std::int32_t>, entry> groups_;
  std::map<demand, bool> known_;
};

bool queue_walk::can_start(closure_queue const& l) {
  auto const [at, fresh] = known_.try_emplace({l.requirement, l.function}, true);
  if (!fresh) return at->second;
  for (auto const& [stream, w] : core_.scheduler.all_workers()) {
    if (visits_ == 0) return complete_ = false, true;
    --visits_;
    if (core_.scheduler.could_run_if_idle(*w, l) && core_.registry.of(w->number).serves())
      return true;
  }
  return at->second = false;
}

bool queue_walk::precedes(closure_queue const& a, closure_queue const& b) const {
  if (a.priority != b.priority) return a.priority > b.priority;
  // Compares by distance, because orders can wrap around in a long session.
  return static_cast<std::int32_t>(core_.closures[a.queue.front].order -
                                   core_.closures[b.queue.front].order) < 0;
}

void queue_walk::visit_gangs() {
  auto const& table = core_.scheduler.gangs;
  auto const add = [&](std::uint64_t id, gang const& g) {
    auto& e = gangs_.emplace_back();
    e.kind = queue_kind::gang;
    e.members = &g;
    e.first = core_.closures.find(g.members.front());
    e.waiting = g.size;
    e.startable = table.waits(id);
    ready_ += g.ready;
    if (e.first == no_slot) gangs_.pop_back();  // the closure finished in this step
  };
  std::uint64_t turn = 0;
  for (auto id = table.next(turn); id != 0 && gangs_.size() < queue_view::gangs_max;
       id = table.next(turn))
    add(id, *table.find(id));
  auto left = queue_view::gangs_max;
  for (auto const& [id, g] : table.all()) {
    if (left-- == 0) break;
    if (!table.waits(id)) add(id, g);
  }
  complete_ = complete_ && table.all().size() <= queue_view::gangs_max;
}

void queue_walk::visit_isolated() {
  auto left = queue_view::gangs_max;
  for (auto const id : core_.scheduler.exclusives.waiting()) {
    if (left-- == 0) return void(complete_ = false);
    slot const c = core_.closures.find(id);
    if (c == no_slot) continue;
    auto& e = isolated_.emplace_back();
    e.first = c;
    e.waiting = 1;
    e.startable = can_start(core_.scheduler.queue_of(c));
    ++ready_;
  }
}

entry& queue_walk::entry_of(closure_queue const& l) {
  auto const [at, fresh] = groups_.try_emplace({{l.requirement, l.function}, l.priority});
  if (fresh) at->second.startable = can_start(l);
  return at->second;
}

void queue_walk::visit_sessions() {
  auto queues = queues_visited_max;
  for (auto const& [id, s] : core_.sessions.all()) {
    std::vector<closure_queue const*> able;
    for (auto const& l : core_.scheduler.queue(s->number).queues) {
      if (queues-- == 0) return void(complete_ = false);
      if (l.queue.size == 0) continue;
      auto& e = entry_of(l);
      e.queues.push_back(&l);
      if (e.jobs.empty() || e.jobs.back() != id) e.jobs.push_back(id);
      slot const c = l.queue.front;
      if (e.first == no_slot || core_.closures[c].created < core_.closures[e.first].created)
        e.first = c;
      e.waiting += l.queue.size;
      ready_ += l.queue.size;
      if (e.startable) able.push_back(&l);
    }
    std::sort(able.begin(), able.end(),
              [this](auto const* a, auto const* b) { return precedes(*a, *b); });
    for (std::size_t i = 0; i < able.size(); ++i) {
      auto& rank = entry_of(*able[i]).rank;
      rank = std::min(rank, i);
    }
  }
}

std::vector<entry const*> queue_walk::in_order() const {
  std::vector<entry const*> all;
  for (auto const& e : gangs_) all.push_back(&e);
  for (auto const& e : isolated_) all.push_back(&e);
  auto const groups = all.size();
  for (auto const& [key, e] : groups_) all.push_back(&e);
  auto const created = [this](entry const* e) { return core_.closures[e->first].created; };
  std::stable_sort(all.begin() + static_cast<std::ptrdiff_t>(groups), all.end(),
                   [&](entry const* a, entry const* b) {
                     return std::pair(a->rank, created(a)) < std::pair(b->rank, created(b));
                   });
  auto const rest =
      std::stable_partition(all.begin(), all.end(), [](entry const* e) { return e->startable; });
  std::stable_sort(rest, all.end(),
                   [&](entry const* a, entry const* b) { return created(a) < created(b); });
  return all;
}

/// Describes the entries of a page.
class queue_details {
 public:
  queue_details(engine_state const& core, explainer const& why, time_point now)
      : core_(core), why_(why), now_(now) {}

  queue_entry of(entry const& e);
  bool complete() const { return complete_; }

 private:
  void add_functions(entry const& e, queue_entry& v) const;
  void add_jobs(entry const& e, queue_entry& v) const;
  /// Fills `room` and `why`, unless the limit of visits is reached.
  void add_workers(entry const& e, queue_entry& v);
  queue_room room_of(closure_queue const& l, bool for_gang) const;

  engine_state const& core_;
  explainer const& why_;
  time_point now_;
  std::size_t visits_ = detail_visits_max;
  bool complete_ = true;
  std::map<std::pair<demand, bool>, queue_room> rooms_;
};

void queue_details::add_functions(entry const& e, queue_entry& v) const {
  std::map<std::string_view, std::uint64_t> found;
  auto const count = [&](slot c) {
    auto const& functions = core_.book.functions;
    auto const& f = functions[core_.closures[c].function];
    ++found[f.callable ? std::string_view(f.name) : std::string_view(functions[f.served].name)];
    ++v.examined;
  };
  if (e.members) {
    for (auto const id : e.members->members)
      if (slot const c = core_.closures.find(id);
          c != no_slot && v.examined < queue_entry::examined_max)
        count(c);
  } else if (e.queues.empty()) {
    count(e.first);
  }
  for (auto const* l : e.queues)
    for (slot c = l->queue.front; c != no_slot && v.examined < queue_entry::examined_max;
         c = core_.closures[c].next)
      count(c);
  for (auto const& [name, n] : found) v.functions.emplace_back(name, n);
  std::stable_sort(v.functions.begin(), v.functions.end(),
                   [](auto const& a, auto const& b) { return a.second > b.second; });
  if (v.functions.size() > queue_entry::functions_max)
    v.functions.resize(queue_entry::functions_max);
}

void queue_details::add_jobs(entry const& e, queue_entry& v) const {
  auto jobs = e.jobs;
  if (jobs.empty()) jobs.push_back(v.job);
  for (auto const id : jobs) {
    if (v.jobs.size() == queue_entry::jobs_max) break;
    auto const* s = core_.sessions.find(id);
    v.jobs.push_back({id, s ? s->spec.name : std::string()});
  }
  v.jobs_more = jobs.size() - v.jobs.size();
}

queue_room queue_details::room_of(closure_queue const& l, bool for_gang) const {
  queue_room room;
  requirement needs;
  if (l.requirement != 0) needs = core_.scheduler.required(l.requirement);
  for (auto const& [stream, w] : core_.scheduler.all_workers()) {
    if (!core_.scheduler.could_run_if_idle(*w, l) || !core_.registry.of(w->number).serves())
      continue;
    ++room.workers;
    room.slots += w->own_slots();
    // Workers that are kept free for a gang accept no other closures.
    auto const shut = for_gang ? w->shut & ~worker_slots::for_gang : w->shut;
    if (!w->open || shut != 0 || w->held() >= w->slots) continue;
    auto const free = std::min(w->slots - w->held(), times_free(w->free, needs));
    room.slots_free += free;
    room.workers_free += free > 0;
  }
  return room;
}

void queue_details::add_workers(entry const& e, queue_entry& v) {
  auto const workers = core_.scheduler.all_workers().size();
  auto const take = [&](std::size_t times) {
    if (visits_ < times * workers) return complete_ = false;
    visits_ -= times * workers;
    return true;
  };
  auto const& l = core_.scheduler.queue_of(e.first);
  bool const for_gang = e.kind == queue_kind::gang;
  std::pair const key{demand{l.requirement, l.function}, for_gang};
  auto known = rooms_.find(key);
  if (known == rooms_.end() && take(1)) known = rooms_.emplace(key, room_of(l, for_gang)).first;
  if (known != rooms_.end()) v.room = known->second;
  if (!take(explanation_visits)) return;
  v.why = why_.explain(e.first, now_);
  if (v.why->why == closure_reason::gang_too_large && take(explanation_visits))
    v.lack = why_.without_worker(e.first);
}

queue_entry queue_details::of(entry const& e) {
  queue_entry v;
  auto const& r = core_.closures[e.first];
  auto const& l = core_.scheduler.queue_of(e.first);
  v.kind = e.kind;
  v.priority = l.priority;
  if (l.requirement != 0) v.needs = needs_of(core_.scheduler.required(l.requirement));
  v.waiting = e.waiting;
  if (e.members) {
    v.gang = e.members->name;
    v.ready = e.members->ready;
  }
  v.first = core_.closures.id_of(e.first);
  v.job = core_.sessions.of(r.owner).id;
  v.since = r.created;
  add_functions(e, v);
  add_jobs(e, v);
  add_workers(e, v);
  return v;
}

}  // namespace

queue_view queue_queries::list(time_point now, std::size_t from, std::size_t limit) const {
  queue_walk walk(core_);
  walk.visit_gangs();
  walk.visit_isolated();
  walk.visit_sessions();
  auto const all = walk.in_order();
  queue_view out;
  out.entries = all.size();
  for (auto const* e : all) {
    out.closures += e->waiting;
    if (!e->startable) continue;
    ++out.startable;
    out.closures_startable += e->waiting;
  }
  queue_details details(core_, why_, now);
  for (auto i = from; i < all.size() && i - from < limit; ++i) {
    out.items.push_back(details.of(*all[i]));
    if (all[i]->startable) out.items.back().position = i + 1;
  }
  auto const& n = core_.book.counts();
  out.blocked = n.blocked;
  out.sent = n.sent;
  auto const known = n.sent + walk.ready();
  out.delayed = n.queued - std::min(n.queued, known);
  out.complete = walk.complete() && details.complete();
  return out;
}

}  // namespace muster::core
