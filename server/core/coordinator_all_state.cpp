// Returns all state as changes. Applying them gives the same state as applying all earlier changes.
#include "server/core/coordinator_state.hpp"

namespace muster::core {

changes coordinator::whole() const {
  auto const& st = *state_;
  changes all;
  auto const& functions = st.book.functions;
  for (std::uint32_t n = 0; n < functions.numbers(); ++n)
    if (auto const& f = functions[function_id{n}]; !f.name.empty())
      all.functions.push_back({function_id{n}, true, f.callable, f.served, f.name, f.hash});
  for (std::uint32_t n = 0; n < st.places.used(); ++n)
    if (auto const& p = st.places[n]; p.references > 0)
      all.places.push_back({n, true, p.worker, p.incarnation, p.host});
  for (auto const& [stream, w] : st.registry.all())
    all.workers.push_back({w->number, true, w->task->job, w->task->index, w->task->spec.slots});
  for (auto const& [key, t] : st.registry.tasks.rows())
    all.tasks.push_back({t->job, t->index, t->state, t->spec.incarnation, t->since, t->given_up,
                         t->cordoned, false});
  for (auto const& [id, s] : st.sessions.all()) {
    all.names.push_back({id, s->spec.name});
    all.sessions.push_back({id, s->delivery(), s->shown_state(), s->generation, s->sealed,
                            s->stopping, s->attached, s->closed, false, s->finished, s->full});
  }
  st.closures.for_each([&](slot c, closure_record const& r) {
    auto const id = st.closures.id_of(c);
    auto const session = st.sessions.of(r.owner).id;
    all.created.push_back({id, session, r.order, r.function});
    all.moved.push_back({id, r.attempt, r.worker, r.phase, move_reason::ready});
    if (!ended(r.phase)) return;
    closure_ended e;
    e.of.closure = id;
    e.of.session = session;
    e.of.attempt = r.attempt;
    e.of.as = r.state();
    all.ended.push_back(e);
    if (r.where != value_place::memory && r.where != value_place::writing)
      all.values.push_back({id, r.where, {}});
  });
  for (auto const& [id, v] : st.builds.all()) {
    all.per_worker.push_back({id, v.owner, v.released, false});
    for (auto const& [task, part] : v.components)
      all.components.push_back(
          {id, task.first, task.second, part.state, part.error.has_value(), false});
  }
  return all;
}

}  // namespace muster::core
