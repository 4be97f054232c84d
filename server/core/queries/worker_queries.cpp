#include "server/core/queries/worker_queries.hpp"

#include "server/core/api/activity.hpp"
#include "server/core/api/listings.hpp"
#include "server/core/state/engine_state.hpp"

namespace muster::core {

namespace {

task_view view_of(engine_state const& core, task_row const& t) {
  auto const* at = t.worker ? &core.scheduler.of(t.worker->number) : nullptr;
  task_view v;
  v.row = t.row;
  v.cluster = core.step.config.cluster;
  v.job = t.job;
  v.index = t.index;
  v.state = t.state;
  v.since = t.since;
  v.last_seen = t.last_seen;
  v.incarnation = t.spec.incarnation;
  v.host = t.spec.host;
  v.version = t.spec.version;
  v.pid = t.spec.pid;
  v.slots = at ? at->own_slots() : t.spec.slots;
  v.credits = at ? at->credits : t.spec.credits;
  v.running = at ? at->running.size - at->yielded : 0;
  v.waiting = at ? at->yielded : 0;
  v.prefetched = at ? at->prefetched.size : 0;
  v.finished = t.finished;
  v.failed = t.failed;
  v.restarts = t.restarts;
  v.reconnects = t.reconnects;
  v.draining = t.worker && t.worker->draining;
  v.cordoned = t.cordoned;
  v.away = t.worker && t.worker->away;
  if (t.worker && t.worker->waiting) v.starts_at = t.worker->starts_at;
  v.lost_since = t.lost_since;
  v.given_up = t.given_up;
  v.functions = t.spec.functions;
  v.labels = t.spec.labels;
  v.resources = t.spec.resources;
  if (at) v.free = at->free;
  v.error = t.error;
  return v;
}

}  // namespace

result<task_view> worker_queries::find(std::string_view job, std::int64_t index) const {
  if (auto const* t = core_.registry.tasks.find(job, index)) return view_of(core_, *t);
  return status{code::not_found,
                "there is no task " + std::string(job) + ":" + std::to_string(index)};
}

page<task_view, std::size_t> worker_queries::list(std::size_t after, std::size_t limit,
                                                  task_filter const& filter) const {
  page<task_view, std::size_t> out;
  std::size_t i = 0;
  for (auto const& [key, t] : core_.registry.tasks.rows()) {
    if (i++ < after) continue;
    if (out.items.size() == limit) {
      out.next = i - 1;
      break;
    }
    if (filter.state && t->state != *filter.state) continue;
    if (!filter.job.empty() && t->job != filter.job) continue;
    out.items.push_back(view_of(core_, *t));
  }
  return out;
}

std::map<std::string, std::vector<lane_key>> worker_queries::by_host() const {
  std::map<std::string, std::vector<lane_key>> hosts;
  for (auto const& [key, t] : core_.registry.tasks.rows())
    hosts[t->spec.host].emplace_back(t->job, t->index);
  return hosts;
}

std::uint32_t worker_queries::connected() const {
  return static_cast<std::uint32_t>(core_.registry.all().size());
}

std::uint32_t worker_queries::tasks_of(std::string const& job) const {
  return core_.registry.tasks.tasks_of(job);
}

std::uint64_t worker_queries::tasks_version() const {
  return core_.registry.tasks.version();
}

result<worker_contents> worker_queries::closures_held_by(std::string_view job, std::int64_t index,
                                                         std::size_t limit) const {
  auto const* t = core_.registry.tasks.find(job, index);
  if (!t) return find(job, index).error();
  worker_contents out;
  if (!t->worker) return out;
  auto const& slots = core_.scheduler.of(t->worker->number);
  auto const take = [&](slot_list const& from, std::vector<worker_contents::held>& to) {
    for (slot c = from.front; c != no_slot && to.size() < limit; c = core_.closures[c].next) {
      auto const& r = core_.closures[c];
      to.push_back({core_.closures.id_of(c), core_.sessions.of(r.owner).id, r.order,
                    core_.book.functions[r.function].name, r.started});
    }
    out.more += from.size - to.size();
  };
  take(slots.running, out.running);
  take(slots.prefetched, out.prefetched);
  return out;
}

std::vector<running_view> worker_queries::running_on(std::string_view job, std::int64_t index,
                                                     session_id of) const {
  std::vector<running_view> out;
  auto const* t = core_.registry.tasks.find(job, index);
  if (!t || !t->worker) return out;
  auto const& held = core_.scheduler.of(t->worker->number).running;
  for (slot c = held.front; c != no_slot; c = core_.closures[c].next) {
    auto const& r = core_.closures[c];
    auto const session = core_.sessions.of(r.owner).id;
    if (of == session_id{} || session == of)
      out.push_back({0, r.function, r.started, core_.closures.id_of(c), session});
  }
  return out;
}

}  // namespace muster::core
