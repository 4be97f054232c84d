#include "server/core/queries/closure_queries.hpp"

#include <algorithm>

#include "server/core/api/explanation.hpp"
#include "server/core/api/waiting_views.hpp"
#include "server/core/queries/explainer.hpp"
#include "server/core/transitions/lifecycle/value_keeping.hpp"

namespace muster::core {

namespace {

void name(closure_view& v, closure_book const& book, function_id f) {
  auto const& known = book.functions[f];
  v.function = book.functions[known.served].name;
  if (known.callable) v.display_name = known.name;
  v.callable = known.hash;
}

closure_view view_of(closure_table const& closures, session_id job, slot at) {
  auto const& r = closures[at];
  closure_view v;
  v.id = closures.id_of(at);
  v.job = job;
  v.index = r.order;
  v.state = r.state();
  v.cancel_requested = r.stop_requested;
  v.exclusive = r.exclusive;
  if (auto const* d = r.details.get()) {
    if (d->extras) {
      v.options = d->extras->options;
      v.per_worker = d->extras->per_worker;
    }
    v.retries = d->retries;
    v.start_at = d->start_at;
    v.deadline = d->deadline;
    if (!d->input_ids.empty()) v.extras = d->extras;
    v.inputs = d->input_ids;
    v.inputs_missing = d->inputs_missing;
    auto const shown = std::min(d->dependents.size(), v.dependents_max);
    v.dependents.assign(d->dependents.begin(), d->dependents.begin() + static_cast<long>(shown));
    v.dependents_more = d->dependents.size() - shown;
  }
  // The arguments of an unsuccessful closure are shown while it can be retried. The arguments of a
  // successful closure are kept only for lineage.
  if (r.state() != closure_state::succeeded) v.args = r.args;
  v.created = r.created;
  v.finished = r.finished;
  return v;
}

}  // namespace

std::size_t closure_queries::size() const {
  return core_.closures.size();
}

result<closure_view> closure_queries::find(closure_id id) const {
  slot const c = core_.closures.find(id);
  if (c == no_slot) return texts_.unknown_value(id);
  auto const& r = core_.closures[c];
  auto v = view_of(core_.closures, core_.sessions.of(r.owner).id, c);
  name(v, core_.book, r.function);
  if (ended(r.state())) {
    auto value = keeping_.value_of(c);
    v.value = value.value;
    v.data = value.data;
    v.value_bytes = size_of_value(value.data);
    v.spilled = r.where == value_place::disk;
    if (v.spilled) v.value_bytes = core_.values.disk_size(id);
    if (r.where == value_place::gone) {
      v.value = value_state::aborted;
      v.released = texts_.released_text(id);
    }
    if (r.state() != closure_state::succeeded) v.error = value.failure;
  }
  std::uint32_t last_lost = 0;
  if (r.details)
    for (auto const& a : r.details->lost) {
      v.attempts.push_back(core_.attempt_of(a));
      last_lost = a.attempt;
    }
  if (r.sent()) {
    v.sent_to = core_.places[r.place].worker;
  } else if (r.attempt > last_lost) {
    auto const& p = core_.places[r.place];
    v.attempts.push_back(
        {r.attempt, p.worker, p.incarnation, p.host, r.started, r.finished, {end_of(r.state())}});
  }
  return v;
}

result<page<closure_view, std::uint32_t>> closure_queries::list(session_id id, std::uint32_t from,
                                                                std::size_t limit) const {
  auto const* s = core_.sessions.find(id);
  if (!s) return texts_.unknown_session(id);
  page<closure_view, std::uint32_t> out;
  auto const& all = core_.book.of(s->number).closures;
  std::size_t i = from;
  for (; i < all.size() && out.items.size() < limit; ++i)
    out.items.push_back(*find(core_.closures.id_of(all[i])));
  if (i < all.size()) out.next = static_cast<std::uint32_t>(i);
  return out;
}

result<explanation> closure_queries::explain(closure_id id, time_point now) const {
  slot const c = core_.closures.find(id);
  if (c == no_slot) return texts_.unknown_value(id);
  return why_.explain(c, now);
}

bool closure_queries::has_no_worker(closure_id id) const {
  slot const c = core_.closures.find(id);
  return c != no_slot && why_.has_no_worker(c);
}

gangs_view closure_queries::gangs() const {
  return why_.gangs();
}

unmet_demand_view closure_queries::unmet_demand() const {
  return why_.unmet_demand();
}

}  // namespace muster::core
