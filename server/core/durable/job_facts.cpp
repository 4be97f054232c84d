// What a step changed of durable jobs and sessions, said in the order in which a reader can take
// it.
#include "server/core/durable/job_facts.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace muster::core {

job_fact job_facts::of(session const& s) const {
  return {
      s.id,      s.spec,     s.state,  s.sealed,     s.stopping, s.user_cancelled,    s.first_error,
      s.created, s.finished, s.closed, s.generation, s.raised,   s.raised_generation, s.client};
}

accepted_fact job_facts::accepted(session const& s, std::vector<slot> const& all) const {
  accepted_fact f{
      s.id, core_.closures[all.front()].order, core_.closures[all.front()].created, {}, {}};
  f.closures.reserve(all.size());
  std::unordered_map<function_id, std::uint32_t> names;
  for (slot const at : all) {
    auto const& r = core_.closures[at];
    auto const [name, fresh] =
        names.try_emplace(r.function, static_cast<std::uint32_t>(f.functions.size()));
    if (fresh) {
      auto const& known = core_.book.functions[r.function];
      f.functions.emplace_back(core_.book.functions[known.served].name);
      if (known.callable || !f.callables.empty()) f.callables.resize(f.functions.size());
      if (known.callable) f.callables.back() = {known.name, known.hash};
    }
    auto& c = f.closures.emplace_back(accepted_closure{
        core_.closures.id_of(at), name->second, r.args, {}, r.token, false, r.own_error});
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

attempt_fact job_facts::of(attempt_record const& a) const {
  attempt_fact f{a.attempt, {}, {}, {}, a.started, a.ended, a.outcome};
  if (a.place == place_table::none) return f;
  auto const& p = core_.places[a.place];
  f.worker = p.worker, f.incarnation = p.incarnation, f.host = p.host;
  return f;
}

closure_fact job_facts::of(session const& s, slot c) const {
  auto const& r = core_.closures[c];
  closure_fact f;
  f.job = s.id;
  f.order = r.order;
  f.attempt = r.attempt;
  f.worker_failures = r.worker_failures;
  f.released = r.released;
  if (auto const* d = r.details.get()) {
    f.retries = d->retries;
    f.workers_lost = d->workers_lost;
    for (auto const& a : d->lost) f.lost.push_back(of(a));
  }
  bool const runs = r.state() == closure_state::running;
  if (!runs && !ended(r.state())) return f;  // queued, whatever it waits for
  f.state = r.state();
  f.started = r.started;
  f.finished = r.finished;
  if (r.place != place_table::none)
    f.newest = of(attempt_record{r.attempt, r.place, r.started, r.finished, {}});
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

fact job_facts::of(session_id owner, per_worker_id id) const {
  auto const* v = core_.builds.find(id);
  if (!v) return per_worker_gone{owner, id};
  return per_worker_fact{
      owner,          id,       v->name,     std::string(core_.book.functions[v->function].name),
      v->args,        v->token, v->released, v->created,
      v->submitted_by};
}

session const* job_facts::durable(session_id id) const {
  auto const* s = core_.sessions.find(id);
  return s && s->durable ? s : nullptr;
}

// Of a request that is gone as a whole nothing is said of its parts.
void job_facts::say_forgotten() {
  auto const& forgotten = core_.step.changed.forgotten;
  auto& requests = core_.step.changed.requests_gone;
  auto const place = [](auto const& r) { return std::pair(raw(r.job), r.first); };
  std::sort(requests.begin(), requests.end(),
            [&](auto const& a, auto const& b) { return place(a) < place(b); });
  for (auto const& f : forgotten) {
    auto const after =
        std::upper_bound(requests.begin(), requests.end(), std::pair(raw(f.job), f.order),
                         [&](auto const& at, request_gone const& r) { return at < place(r); });
    bool const covered = after != requests.begin() && std::prev(after)->job == f.job &&
                         f.order - std::prev(after)->first < std::prev(after)->size;
    if (!covered) core_.step.fx.facts.emplace_back(f);
  }
  for (auto const& r : requests) core_.step.fx.facts.emplace_back(r);
}

void job_facts::say() {
  auto& changed = core_.step.changed;
  if (!changed.any()) return;
  auto const once = [](auto& ids) {
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  };
  once(changed.jobs);
  once(changed.closures);
  auto& out = core_.step.fx.facts;
  for (auto const id : changed.jobs)
    if (auto const* s = durable(id)) out.emplace_back(of(*s));
  for (auto const& [owner, id] : changed.per_worker)
    if (owner == session_id{} || durable(owner)) out.emplace_back(of(owner, id));
  for (auto const& [id, closures] : changed.accepted)
    if (auto const* s = durable(id)) out.emplace_back(accepted(*s, closures));
  for (auto const id : changed.closures)
    if (slot const c = core_.closures.find(id); c != no_slot)
      out.emplace_back(of(core_.sessions.of(core_.closures[c].owner), c));
  say_forgotten();
  for (auto const id : changed.gone) out.emplace_back(job_gone{id});
  changed = {};
}

std::vector<fact> job_facts::forget_all() const {
  std::vector<fact> all;
  for (auto const& [id, s] : core_.sessions.all())
    if (s->durable) all.emplace_back(job_gone{id});
  if (core_.step.config.durable)
    for (auto const& [id, v] : core_.builds.all())
      if (v.owner == session_id{}) all.emplace_back(per_worker_gone{{}, id});
  return all;
}

}  // namespace muster::core
