// Records are written in the order that readers need: a session before its closures, removals last.
#include "server/core/durable/durable_records.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/check.hpp"

namespace muster::core {

namespace {

template <class Ids>
Ids& once(Ids& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace

accepted_fact durable_records::accepted(session const& s, closure_created const* first,
                                        std::size_t n) const {
  accepted_fact f{s.id, first->order, core_.step.now, {}, {}};
  f.closures.reserve(n);
  std::unordered_map<function_id, std::uint32_t> names;
  for (auto const* made = first; made != first + n; ++made) {
    slot const at = core_.closures.find(made->closure);
    check(at != no_slot, "closures of a request must not be removed within its step");
    auto const& r = core_.closures[at];
    auto const [name, fresh] =
        names.try_emplace(r.function, static_cast<std::uint32_t>(f.functions.size()));
    if (fresh) {
      auto const& known = core_.book.functions[r.function];
      f.functions.emplace_back(core_.book.functions[known.served].name);
      if (known.callable || !f.callables.empty()) f.callables.resize(f.functions.size());
      if (known.callable) f.callables.back() = {known.name, known.hash};
    }
    auto& c = f.closures.emplace_back(
        accepted_closure{made->closure, name->second, r.args, {}, r.token, false, r.own_error});
    auto const* d = r.details.get();
    if (!d || !d->extras) continue;
    c.extras = d->extras;
    if (d->extras->inputs.empty()) continue;
    auto own = std::make_shared<closure_extras>(*d->extras);
    for (std::size_t k = 0; k < own->inputs.size(); ++k) {
      own->inputs[k].closure = d->input_ids[k];
      own->inputs[k].position = 0;
    }
    c.extras = std::move(own);
  }
  return f;
}

closure_fact durable_records::of(session const& s, slot c) const {
  auto const& r = core_.closures[c];
  closure_fact f;
  f.job = s.id;
  f.order = r.order;
  f.attempt = r.attempt;
  f.worker_failures = r.worker_failures;
  f.released = r.released;
  f.exclusive = r.exclusive;
  if (auto const* d = r.details.get()) {
    f.retries = d->retries;
    f.workers_lost = d->workers_lost;
    f.processes_ended = d->processes_ended;
    for (auto const& a : d->lost) f.lost.push_back(core_.attempt_of(a));
  }
  bool const runs = r.state() == closure_state::running;
  // A queued closure has no attempt and no result to record.
  if (!runs && !ended(r.state())) return f;
  f.state = r.state();
  f.started = r.started;
  f.finished = r.finished;
  if (r.place != place_table::none)
    f.newest = core_.attempt_of({r.attempt, r.place, r.started, r.finished, {}});
  if (runs) return f;
  if (r.state() != closure_state::succeeded) {
    f.failure = r.details->failure;
  } else if (r.where == value_place::gone) {
    auto const note = core_.values.note_of(core_.closures.id_of(c));
    f.dropped = note ? note->why : release_reason::bytes;
  } else {
    f.value = r.value;
  }
  return f;
}

fact durable_records::of(session_id owner, per_worker_id id) const {
  auto const* v = core_.builds.find(id);
  if (!v) return per_worker_removed{owner, id};
  return per_worker_fact{
      owner,          id,       v->name,     std::string(core_.book.functions[v->function].name),
      v->args,        v->token, v->released, v->created,
      v->submitted_by};
}

session* durable_records::durable(session_id id) {
  if (id != asked_) {
    auto* const s = core_.sessions.find(id);
    asked_ = id;
    found_ = s && s->durable ? s : nullptr;
  }
  return found_;
}

void durable_records::append_session_records() {
  std::vector<session_id> all;
  for (auto const& s : core_.step.fx.changes.sessions)
    if (!s.restored && durable(s.session)) all.push_back(s.session);
  for (auto const id : once(all))
    core_.step.fx.facts.emplace_back(std::in_place_type<job_fact>, *durable(id));
}

void durable_records::append_value_records() {
  std::vector<std::pair<session_id, per_worker_id>> all;
  for (auto const& v : core_.step.fx.changes.per_worker) {
    if (v.restored) continue;
    auto const* const s = durable(v.owner);
    if (v.owner == session_id{} || (s && !s->closed)) all.emplace_back(v.owner, v.value);
  }
  for (auto const& [owner, id] : once(all)) core_.step.fx.facts.emplace_back(of(owner, id));
}

// All closures that a step creates in a session belong to one request.
void durable_records::append_request_records() {
  auto const& all = core_.step.fx.changes.created;
  for (std::size_t i = 0, n = 0; i < all.size(); i += n) {
    for (n = 1; i + n < all.size() && all[i + n].session == all[i].session &&
                all[i + n].order == all[i].order + n;
         ++n) {
    }
    auto* const s = all[i].restored ? nullptr : durable(all[i].session);
    if (!s) continue;
    if (s->traits().resumable) s->requests.add({all[i].order, static_cast<std::uint32_t>(n)});
    core_.step.fx.facts.emplace_back(accepted(*s, &all[i], n));
  }
}

void durable_records::append_closure_records() {
  auto const& changes = core_.step.fx.changes;
  bool const stopping = core_.step.stopping;  // workers that disconnect at shutdown are not lost
  std::vector<closure_id> all;
  for (auto const& e : changes.ended)
    if (!e.restored && !e.released && durable(e.of.session)) all.push_back(e.of.closure);
  for (auto const& m : changes.moved)
    if (m.why == move_reason::retried || m.why == move_reason::unwanted ||
        m.why == move_reason::runs_long || (m.why == move_reason::worker_lost && !stopping))
      all.push_back(m.closure);
  for (auto const& v : changes.values)
    if (v.where == value_place::gone && !v.restored) all.push_back(v.closure);
  for (auto const id : once(all)) {
    slot const c = core_.closures.find(id);
    if (c == no_slot) continue;
    auto const& s = core_.sessions.of(core_.closures[c].owner);
    if (s.durable && !s.closed) core_.step.fx.facts.emplace_back(of(s, c));
  }
}

// Requests whose closures are all released become one record.
void durable_records::append_released_records() {
  auto const& changes = core_.step.fx.changes;
  auto& out = core_.step.fx.facts;
  std::vector<closure_removed> parts;
  auto const go = [&](closure_outline const& c) {
    auto* const s = durable(c.session);
    if (!s || !s->traits().resumable) return;
    if (auto const whole = s->requests.forget(c.order))
      out.emplace_back(request_removed{s->id, whole->first, whole->size});
    else
      parts.push_back({s->id, c.order});
  };
  for (auto const& e : changes.ended)
    if (e.released) go(e.of);
  for (auto const& r : changes.released) go(r.of);
  for (auto const& p : parts)
    if (durable(p.job)->requests.has(p.order)) out.emplace_back(p);
}

void durable_records::append_all() {
  if (!core_.step.config.durable) return;
  asked_ = {}, found_ = nullptr;
  append_session_records();
  append_value_records();
  append_request_records();
  append_closure_records();
  append_released_records();
  for (auto const id : core_.step.fx.changes.let_go)
    core_.step.fx.facts.emplace_back(job_removed{id});
}

std::vector<fact> durable_records::forget_all() const {
  std::vector<fact> all;
  for (auto const& [id, s] : core_.sessions.all())
    if (s->durable) all.emplace_back(job_removed{id});
  if (core_.step.config.durable)
    for (auto const& [id, v] : core_.builds.all())
      if (v.owner == session_id{}) all.emplace_back(per_worker_removed{{}, id});
  return all;
}

}  // namespace muster::core
