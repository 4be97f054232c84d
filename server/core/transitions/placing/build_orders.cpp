#include "server/core/transitions/placing/build_orders.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace muster::core {

namespace {
constexpr std::size_t value_name_bytes_max = 256;
}  // namespace

void build_orders::forget_components() {
  for (auto& [id, v] : core_.builds.all())
    std::erase_if(v.components, [&, this](auto const& entry) {
      bool const gone = entry.second.stream == stream_id{} &&
                        !core_.registry.tasks.find(entry.first.first, entry.first.second);
      if (gone) core_.builds.note_change(v, entry.first, true);
      return gone;
    });
}

void build_orders::create_value(create_per_worker& e) {
  if (core_.step.refuse_when_stopping(e.call)) return;
  if (!core_.book.functions.knows(e.function))
    return core_.step.answer(e.call, wrong_field("function", "unknown function number"));
  if (e.name.size() > value_name_bytes_max)
    return core_.step.answer(e.call,
                             wrong_field("name",
                                         std::to_string(e.name.size()) + " bytes, the limit is " +
                                             std::to_string(value_name_bytes_max),
                                         value_name_bytes_max));
  auto* const owner = core_.sessions.find(e.owner);
  if (e.owner != session_id{} && (!owner || owner->closed))
    return core_.step.answer(e.call, texts_.unknown_session(e.owner));
  if (owner && owner->traits().unary) flow_.renew_lease(*owner, core_.step.now);
  if (e.token != 0)
    if (auto const* known = core_.builds.find(e.owner, e.token))
      return core_.step.answer(e.call, {}, per_worker_reply{known->id});
  if (core_.builds.all().size() >= core_.step.config.per_worker_values_max)
    return core_.step.answer(
        e.call,
        {code::resource_exhausted, "the server has " + std::to_string(core_.builds.all().size()) +
                                       " per-worker values, which is the limit"});
  auto& v = core_.builds.add();
  v.name = std::move(e.name);
  v.function = e.function;
  v.args = std::move(e.args);
  v.owner = e.owner;
  v.token = e.token;
  v.submitted_by = std::move(e.submitted_by);
  if (owner) owner->owns_per_worker = true;
  v.created = core_.step.now;
  core_.builds.note_change(v);
  for (auto const& [stream, w] : core_.registry.all()) expect_component(*w, v);
  core_.step.answer(e.call, {}, per_worker_reply{v.id});
}

void build_orders::delete_value(delete_per_worker const& e) {
  auto* v = core_.builds.find(e.id);
  if (!v || v->released) return core_.step.answer(e.call, texts_.unknown_per_worker(e.id));
  if (e.owner != session_id{} && e.owner != v->owner)
    return core_.step.answer(
        e.call, {code::not_found, text(e.id) + " does not belong to " + text(e.owner)});
  life_.release(*v);
  core_.step.answer(e.call, {});
}

void build_orders::release_per_worker(session const& s, std::vector<std::uint64_t> const& but) {
  if (!s.owns_per_worker) return;
  for (auto it = core_.builds.all().begin(); it != core_.builds.all().end();) {
    auto& v = (it++)->second;  // release can erase the entry
    if (v.owner != s.id || v.released) continue;
    if (std::find(but.begin(), but.end(), v.token) == but.end()) life_.release(v);
  }
}

std::uint32_t build_orders::declared_for(per_worker_entry const& v) const {
  auto const* owner = core_.sessions.find(v.owner);
  return owner ? owner->spec.num_workers : 0;
}

bool build_orders::builds_it(task_row const& t, per_worker_entry const& v) const {
  if (core_.stateful.holds_state(t.job))
    return v.named.contains({t.job, t.index}) || v.named.contains({t.job, -1});
  auto const declared = declared_for(v);
  return declared == 0 || t.index < std::int64_t{declared};
}

std::int64_t build_orders::expected_tasks(std::string const& job) const {
  std::int64_t n = core_.registry.tasks.declared(job);
  for (auto const& [id, s] : core_.sessions.all())
    if (!s->terminal() && !s->closed && !core_.stateful.holds_state(job))
      n = std::max<std::int64_t>(n, s->spec.num_workers);
  for (auto const& [id, v] : core_.builds.all()) n = std::max(n, v.highest(job) + 1);
  return n;
}

// If the session has no limit, the server's limit applies: otherwise the build could kill every new
// worker.
std::uint32_t build_orders::losses_max(per_worker_entry const& v) const {
  auto const* const owner = core_.sessions.find(v.owner);
  return owner && owner->max_worker_failures > 0 ? owner->max_worker_failures
                                                 : core_.step.config.max_worker_failures;
}

void build_orders::expect_named() {
  for (auto const id : core_.builds.take_named()) {
    auto* v = core_.builds.find(id);
    if (!v) continue;
    for (auto const& [stream, w] : core_.registry.all()) {
      auto const part = v->components.find({w->task->job, w->task->index});
      if (part == v->components.end() || part->second.stream != stream) expect_component(*w, *v);
    }
  }
}

// A worker without the function gets no component; closures that need the value run elsewhere. A
// worker that has the value keeps it, because a restarted server no longer knows which tasks need
// it.
void build_orders::expect_component(worker& w, per_worker_entry& v) {
  auto const& kept = w.task->spec.per_worker;
  bool const has_it = std::find(kept.begin(), kept.end(), v.id) != kept.end();
  if (!has_it && !builds_it(*w.task, v)) return;
  auto const& has = w.task->functions;
  if (std::find(has.begin(), has.end(), v.function) == has.end()) return;
  auto& part = v.components[{w.task->job, w.task->index}];
  if (auto* before = core_.scheduler.find(part.stream))
    core_.scheduler.set_built(*before, v.id, false);
  part.stream = w.stream;
  part.since = core_.step.now;
  part.build = {};
  // An incarnation that has returned has not died. Whether an absent incarnation has died is
  // unknown.
  auto const suspect = std::exchange(part.suspect, {});
  bool const died = suspect != incarnation{} && suspect != w.task->spec.incarnation;
  part.losses += died;
  if (has_it) {
    part.losses = part.built_again = 0;
    part.error.reset();
    part.state = value_state::ready;
    core_.builds.note_change(v, {w.task->job, w.task->index});
    return core_.scheduler.set_built(core_.scheduler.of(w.number), v.id, true);
  }
  part.error.reset();
  part.state = value_state::not_ready;
  part.losses_max = losses_max(v);
  if (part.is_quarantined()) return expect_quarantined(w, v, part, died);
  core_.builds.note_change(v, {w.task->job, w.task->index});
  core_.builds.build_later(w.stream, v.id);
}

// Repeats the build with pauses until it succeeds. Closures fail only after the next attempt, which
// can show that something else killed the workers.
void build_orders::expect_quarantined(worker& w, per_worker_entry& v, per_worker_component& part,
                                      bool died) {
  auto const before = part.losses - part.losses_max;
  auto const name = w.task->name();
  auto const pause = component_builds::pause_after(before);
  part.error =
      failure{failure_kind::worker_lost, "", part.quarantine_message(name), "", name, part.losses};
  core_.builds.note_change(v, {w.task->job, w.task->index});
  core_.builds.note_trouble(v.id);
  core_.builds.build_again(core_.step.now, before, w.stream, v.id);
  if (!died) return;
  core_.step.report_incident(incidents::builder_quarantined{
      v.id, v.name, part.losses, name, part.lost_by, pause, part.is_hopeless()});
  core_.step.check_all |= part.is_hopeless();
}

void build_orders::expect_components(worker& w) {
  for (auto& [id, v] : core_.builds.all())
    if (!v.released || v.users > 0) expect_component(w, v);
  for (auto const id : w.task->spec.per_worker)
    if (auto const* v = core_.builds.find(id);
        !v || !v->components.contains({w.task->job, w.task->index}))
      core_.step.fx.drop_requests.push_back({w.stream, id});
}

void build_orders::send_builds() {
  expect_named();
  for (auto const stream : core_.builds.take_waiting()) {
    auto* w = core_.registry.find(stream);
    if (!w || !w->open()) continue;  // a disconnected worker gets all builds again when it returns
    auto& at = core_.scheduler.of((*w).number);
    auto& pending = core_.builds.to_build(stream);
    std::size_t sent = 0;
    for (; sent < pending.size() && at.held() < at.credits &&
           !(at.shut & worker_slots::runs_exclusive);
         ++sent)
      if (auto* v = core_.builds.find(pending[sent])) send_build(*w, *v);
    pending.erase(pending.begin(), pending.begin() + static_cast<std::ptrdiff_t>(sent));
    if (!pending.empty()) core_.builds.look_at(stream);
    core_.scheduler.update(at);
  }
}

void build_orders::send_build(worker& w, per_worker_entry& v) {
  auto& part = v.components.at({w.task->job, w.task->index});
  auto& at = core_.scheduler.of(w.number);
  closure_spec spec;
  spec.function = v.function;
  spec.token = raw(v.id);
  spec.args = v.args;
  slot const c =
      core_.book.create(core_.builders.number, spec,
                        core_.scheduler.queue_for(core_.builders.number, spec), core_.step.now);
  auto const first = static_cast<std::uint32_t>(core_.step.fx.assignments.size());
  life_.assign(at, c);
  if (part.num_workers == 0)
    part.num_workers = at.by_name_only || declared_for(v) == 0
                           ? core_.registry.tasks.tasks_of(at.job)
                           : declared_for(v);
  core_.step.fx.assignments.back().builds = v.id;
  core_.step.fx.assignments.back().num_workers = part.num_workers;
  core_.step.fx.dispatches.push_back(
      {w.stream, first, 1, w.number, core_.closures[c].is(closure_phase::running)});
  part.build = core_.closures.id_of(c);
}

void build_orders::continue_build(worker const& w, slot c) {
  auto* v = core_.builds.find(per_worker_id{core_.closures[c].token});
  if (!v) return;
  auto& part = v->components.at({w.task->job, w.task->index});
  part.build = core_.closures.id_of(c);
  core_.builds.cancel_build(w.stream, v->id);
}

}  // namespace muster::core
