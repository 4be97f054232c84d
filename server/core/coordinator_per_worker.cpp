// PerWorkerValues: who has to build what, and what became of it. A build is a closure without a
// session: it is sent before anything else, past the window (never past the credits), is not put
// back when its worker is lost, and its outcome is a component's state.
#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "server/core/coordinator_state.hpp"

namespace muster::core {

namespace {
constexpr std::size_t name_bytes_max = 256;
}  // namespace

status coordinator::state::unknown_per_worker(per_worker_id id) const {
  return {code::not_found,
          per_worker.was(id) ? text(id) + " was released" : "there is no " + text(id)};
}

void coordinator::state::create(create_per_worker& e) {
  if (refuse_when_stopping(e.call)) return;
  if (!functions.knows(e.function))
    return answer(e.call, {code::invalid_argument, "function: unknown number"});
  if (e.name.size() > name_bytes_max)
    return answer(e.call, {code::invalid_argument, "name: " + std::to_string(e.name.size()) +
                                                       " bytes, the limit is " +
                                                       std::to_string(name_bytes_max)});
  auto* const owner = find_session(e.owner);
  if (e.owner != session_id{} && (!owner || owner->closed))
    return answer(e.call, unknown_session(e.owner));
  if (owner && owner->spec.by_call) renew_lease(*owner, now);
  if (e.token != 0)
    if (auto const* known = per_worker.find(e.owner, e.token))
      return answer(e.call, {}, per_worker_reply{known->id});
  if (per_worker.all().size() >= config.per_worker_values_max)
    return answer(e.call, {code::resource_exhausted, "the server keeps " +
                                                         std::to_string(per_worker.all().size()) +
                                                         " per-worker values, its limit"});
  auto& v = per_worker.add();
  v.name = std::move(e.name);
  v.function = e.function;
  v.args = std::move(e.args);
  v.owner = e.owner;
  v.token = e.token;
  if (owner) owner->owns_per_worker = true;
  v.created = now;
  for (auto const& [stream, w] : workers) expect_component(*w, v);
  answer(e.call, {}, per_worker_reply{v.id});
}

void coordinator::state::erase(delete_per_worker const& e) {
  auto* v = per_worker.find(e.id);
  if (!v || v->released) return answer(e.call, unknown_per_worker(e.id));
  if (e.owner != session_id{} && e.owner != v->owner)
    return answer(e.call, {code::not_found, text(e.id) + " is not of " + text(e.owner)});
  release(*v);
  answer(e.call, {});
}

void coordinator::state::release(per_worker_entry& v) {
  v.released = true;
  if (v.users > 0) return;
  std::vector<worker*> keepers;
  for (auto const& [task, part] : v.components) {
    auto* w = find_worker(part.stream);
    if (!w) continue;
    keepers.push_back(w);
    if (std::erase(w->to_build, v.id) > 0) continue;
    if (slot const c = closures.find(part.build); c != no_slot) ask_to_stop(c);
    fx.drop_requests.push_back({part.stream, v.id});
  }
  per_worker.erase(v.id);
  for (auto* w : keepers) reconsider(*w);
}

void coordinator::state::release_per_worker(session const& s,
                                            std::vector<std::uint64_t> const& but) {
  if (!s.owns_per_worker) return;
  for (auto it = per_worker.all().begin(); it != per_worker.all().end();) {
    auto& v = (it++)->second;  // release may erase it
    if (v.owner != s.id || v.released) continue;
    if (std::find(but.begin(), but.end(), v.token) == but.end()) release(v);
  }
}

void coordinator::state::use_per_worker(closure_extras const& x) {
  for (auto const id : x.per_worker) ++per_worker.find(id)->users;
}

void coordinator::state::unuse_per_worker(closure_extras const& x) {
  for (auto const id : x.per_worker) {
    auto& v = *per_worker.find(id);
    if (--v.users == 0 && v.released) release(v);
  }
}

bool coordinator::state::built_on(per_worker_id id, worker const& w) const {
  auto const* v = per_worker.find(id);
  if (!v) return false;
  auto const part = v->components.find({w.task->job, w.task->index});
  return part != v->components.end() && part->second.stream == w.stream &&
         part->second.state == value_state::ready;
}

// A worker without the function gets no component: what needs the value runs elsewhere.
void coordinator::state::expect_component(worker& w, per_worker_entry& v) {
  auto const& has = w.task->functions;
  if (std::find(has.begin(), has.end(), v.function) == has.end()) return;
  auto& part = v.components[{w.task->job, w.task->index}];
  part.stream = w.stream;
  part.since = now;
  part.build = {};
  // One that comes back has not died, and whether one that stays away has, nobody can know.
  auto const suspect = std::exchange(part.suspect, {});
  part.losses += suspect != incarnation{} && suspect != w.task->spec.incarnation;
  auto const& kept = w.task->spec.per_worker;
  if (std::find(kept.begin(), kept.end(), v.id) != kept.end()) {
    part.state = value_state::ready;
    return;
  }
  part.error.reset();
  part.state = value_state::not_ready;
  w.to_build.push_back(v.id);
  if (w.to_build.size() == 1) builders_waiting.push_back(w.stream);
}

void coordinator::state::expect_components(worker& w) {
  for (auto& [id, v] : per_worker.all())
    if (!v.released || v.users > 0) expect_component(w, v);
  for (auto const id : w.task->spec.per_worker)
    if (auto const* v = per_worker.find(id); !v) fx.drop_requests.push_back({w.stream, id});
}

void coordinator::state::lose_components(worker& w, std::string const& why) {
  for (auto& [id, v] : per_worker.all()) {
    auto const it = v.components.find({w.task->job, w.task->index});
    if (it == v.components.end() || it->second.stream != w.stream) continue;
    auto& part = it->second;
    part.state = value_state::aborted;
    part.error =
        failure{failure_kind::worker_lost, "", "worker lost: " + why, "", w.task->name(), 0};
    part.stream = {};
    part.build = {};
    part.since = now;
  }
}

void coordinator::state::send_builds() {
  auto waiting = std::exchange(builders_waiting, {});
  for (auto const stream : waiting) {
    auto* w = find_worker(stream);
    if (!w || !w->serves() || w->waiting) continue;  // away: all of it comes again with its return
    std::size_t sent = 0;
    for (; sent < w->to_build.size() && w->holds.size < w->credits; ++sent)
      if (auto* v = per_worker.find(w->to_build[sent])) send_build(*w, *v);
    w->to_build.erase(w->to_build.begin(), w->to_build.begin() + static_cast<std::ptrdiff_t>(sent));
    if (!w->to_build.empty()) builders_waiting.push_back(stream);
    if (w->placed) placement.update(*w);
  }
}

void coordinator::state::send_build(worker& w, per_worker_entry& v) {
  auto& part = v.components.at({w.task->job, w.task->index});
  if (max_build_losses > 0 && part.losses >= max_build_losses) {
    part.state = value_state::ready;
    part.error = failure{
        failure_kind::worker_lost,
        "",
        "quarantined: " + std::to_string(part.losses) + " workers were lost while they built it",
        "",
        w.task->name(),
        part.losses};
    return reconsider(w);
  }
  slot const c = closures.allocate(builders);
  auto& r = closures[c];
  r.args = v.args;
  r.token = raw(v.id);
  r.created = now;
  r.order = builders.scheduled++;
  r.lane = builders.lane_for(v.function);
  r.state = closure_state::queued;
  ++builders.counts.queued;
  ++counts.queued;
  ++functions[v.function].queued;
  auto const first = static_cast<std::uint32_t>(fx.assignments.size());
  assign(w, c);
  fx.assignments.back().builds = v.id;
  fx.dispatches.push_back({w.stream, first, 1});
  part.build = closures.id_of(c);
}

// Called when the closure of a build has ended; the record is forgotten afterwards.
void coordinator::state::built(slot c, stream_id on) {
  auto& r = closures[c];
  auto* v = per_worker.find(per_worker_id{r.token});
  if (!v) return;  // released meanwhile
  auto* w = find_worker(on);
  if (!w) return;
  auto& part = v->components.at({w->task->job, w->task->index});
  if (part.build != closures.id_of(c)) return;
  part.build = {};
  part.losses = 0;
  part.state = value_state::ready;
  part.since = now;
  if (r.state != closure_state::succeeded) part.error = r.details->failure;
  reconsider(*w);
}

// The build came over from the worker's broken stream; it was about to be sent anew.
void coordinator::state::go_on_building(worker& w, slot c) {
  auto* v = per_worker.find(per_worker_id{closures[c].token});
  if (!v) return;  // released meanwhile
  auto& part = v->components.at({w.task->job, w.task->index});
  part.build = closures.id_of(c);
  std::erase(w.to_build, v->id);
}

void coordinator::state::lose_build(worker& w, slot c, bool suspect, std::string const& why) {
  if (auto* v = per_worker.find(per_worker_id{closures[c].token})) {
    auto& part = v->components.at({w.task->job, w.task->index});
    part.build = {};
    if (suspect) part.suspect = w.task->spec.incarnation;
    if (w.placed) {
      w.to_build.push_back(v->id);
      builders_waiting.push_back(w.stream);
    }
  }
  fail(c, closure_state::failed,
       {failure_kind::worker_lost, "", why, "", w.task->name(), closures[c].attempt});
}

}  // namespace muster::core
