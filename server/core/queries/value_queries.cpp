#include "server/core/queries/value_queries.hpp"

#include "server/core/api/listings.hpp"
#include "server/core/state/engine_state.hpp"
#include "server/core/transitions/lifecycle/release_texts.hpp"

namespace muster::core {

namespace {

constexpr std::size_t holders_a_step = 2'000;

/// Sets the start time of the component's build, or the closure that the worker runs before it.
void add_progress(per_worker_view::component& v, per_worker_id id, per_worker_component const& part,
                  engine_state const& core) {
  if (part.state != value_state::not_ready) return;
  slot const c = part.build == closure_id{} ? no_slot : core.closures.find(part.build);
  if (c != no_slot && core.closures[c].is(closure_phase::running)) {
    v.since = core.closures[c].started;
    return;
  }
  auto const* w = core.scheduler.find(part.stream);
  if (!w || core.builds.is_delayed(part.stream, id) || w->running.size == 0) return;
  v.queued_behind = core.book.functions[core.closures[w->running.front].function].name;
}

per_worker_view view(engine_state const& core, per_worker_entry const& e) {
  auto const& functions = core.book.functions;
  per_worker_view v;
  v.id = e.id;
  v.cluster = core.step.config.cluster;
  v.name = e.name;
  v.function = functions[e.function].name;
  v.args = e.args;
  v.owner = e.owner;
  v.submitted_by = e.submitted_by;
  v.created = e.created;
  v.released = e.released;
  v.users = e.users;
  for (auto const& [task, part] : e.components)
    add_progress(v.components.emplace_back(per_worker_view::component{
                     task.first, task.second, part.state, part.error, part.since}),
                 e.id, part, core);
  return v;
}

}  // namespace

page<value_holder, session_id> value_queries::holders(session_id after) const {
  page<value_holder, session_id> out;
  auto const& all = core_.sessions.all();
  std::size_t looked_at = 0;
  auto last = after;
  for (auto it = all.upper_bound(after); it != all.end(); ++it) {
    if (looked_at++ == holders_a_step) {
      out.next = last;
      break;
    }
    last = it->first;
    auto const& s = *it->second;
    auto const& h = core_.values.of(s.number);
    if (h.live == 0) continue;
    out.items.push_back({s.id, s.spec.name, s.traits().generations, s.shown_state(), h.live,
                         h.bytes, h.spilled_bytes, h.blob_bytes});
  }
  return out;
}

time_point value_queries::disk_fails_since() const {
  return core_.values.disk_fails_since();
}

bool value_queries::too_many_bytes() const {
  return core_.values.full();
}

bool value_queries::too_many_bytes_in_server() const {
  auto const& wide = core_.wide;
  return wide.coordinators > 1 && wide.value_bytes.used() > core_.step.config.value_bytes_max;
}

result<per_worker_view> per_worker_queries::find(per_worker_id id) const {
  if (auto const* e = core_.builds.find(id)) return view(core_, *e);
  return texts_.unknown_per_worker(id);
}

std::vector<failing_build_view> per_worker_queries::failing(std::size_t limit) const {
  std::vector<failing_build_view> out;
  for (auto const id : core_.builds.troubled()) {
    auto const& v = *core_.builds.find(id);
    for (auto const& [task, part] : v.components) {
      if (out.size() == limit) return out;
      if (!part.is_quarantined()) continue;
      auto const worker = task.first + ":" + std::to_string(task.second);
      out.push_back({id, v.name, core_.book.functions[v.function].name, worker, part.losses,
                     part.quarantine_message(worker), part.since});
    }
  }
  return out;
}

page<per_worker_view, per_worker_id> per_worker_queries::list(per_worker_id after,
                                                              std::size_t limit) const {
  page<per_worker_view, per_worker_id> out;
  auto const& all = core_.builds.all();
  for (auto it = all.upper_bound(after); it != all.end(); ++it) {
    if (out.items.size() == limit) {
      out.next = out.items.empty() ? after : out.items.back().id;
      break;
    }
    out.items.push_back(view(core_, it->second));
  }
  return out;
}

}  // namespace muster::core
