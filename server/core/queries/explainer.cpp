#include "server/core/queries/explainer.hpp"

#include <algorithm>

#include "server/core/api/blob_name.hpp"

namespace muster::core {

std::optional<worker_shortage> explainer::not_serving(function_id f) const {
  worker_shortage l{closure_reason::workers_closed, core_.book.functions[f].name};
  for (auto const& [stream, w] : core_.registry.all()) {
    auto const& has = w->task->functions;
    if (std::find(has.begin(), has.end(), f) == has.end()) continue;
    if (w->away)
      ++l.away;
    else if (w->draining)
      ++l.draining;
    else if (w->task->cordoned)
      ++l.cordoned;
  }
  if (l.draining + l.cordoned + l.away == 0) return {};
  return l;
}

std::optional<worker_shortage> explainer::starting(function_id f) const {
  worker_shortage l{closure_reason::workers_start, core_.book.functions[f].name};
  auto first = never;
  for (auto const& [stream, w] : core_.registry.all()) {
    auto const& has = w->task->functions;
    if (!w->serves() || std::find(has.begin(), has.end(), f) == has.end()) continue;
    if (!w->waiting) return {};
    first = std::min(first, w->starts_at);
    ++l.starting;
  }
  if (l.starting == 0) return {};
  l.starts_in = first - core_.step.now;
  return l;
}

std::optional<worker_shortage> explainer::without_worker(slot c) const {
  auto const function = core_.book.functions.served(core_.closures[c].function);
  auto const& f = core_.book.functions[function];
  worker_shortage l{closure_reason::no_worker, f.name, f.ever_had};
  l.connected = core_.registry.tasks.count(task_state::connected) +
                core_.registry.tasks.count(task_state::late);
  auto const because = [&l](closure_reason why) {
    l.why = why;
    return l;
  };
  if (core_.step.stopping) return because(closure_reason::server_stops);
  if (l.connected == 0) return l;
  if (!f.ever_had) return because(closure_reason::function_unseen);
  if (f.workers == 0) {
    if (auto closed = not_serving(function)) return closed;
    return because(closure_reason::function_absent);
  }
  if (auto later = starting(function)) return later;
  auto const requirement = core_.scheduler.queue_of(c).requirement;
  auto const needs = requirement == 0 ? core::requirement{} : core_.scheduler.required(requirement);
  l.need = core_.scheduler.unmet(function, needs);
  if (l.need && l.need->what == unmet_need::kind::per_worker) l.need->value = why_not_built(needs);
  if (l.need) return because(closure_reason::unsatisfiable);
  return held_back(c);
}

std::string explainer::why_not_built(requirement const& r) const {
  for (auto const id : r.per_worker) {
    auto const* v = core_.builds.find(id);
    if (!v) continue;
    for (auto const& [task, part] : v->components)
      if (part.state == value_state::not_ready && part.error) return part.error->message;
  }
  return {};
}

explainer::takers explainer::takers_of(closure_queue const& l) const {
  takers found;
  for (auto const& [stream, w] : core_.registry.all()) {
    if (!core_.scheduler.could_run_if_idle(core_.scheduler.of(w->number), l)) continue;
    if (w->draining) {
      ++found.draining;
    } else if (w->task->cordoned) {
      if (auto name = w->task->name(); found.cordoned++ == 0 || name < found.first_cordoned)
        found.first_cordoned = std::move(name);
    } else {
      ++found.serving;
    }
  }
  return found;
}

std::optional<worker_shortage> explainer::held_back(slot c) const {
  auto found = takers_of(core_.scheduler.queue_of(c));
  if (found.serving > 0 || found.cordoned + found.draining == 0) return {};
  worker_shortage l{closure_reason::workers_held_back};
  l.draining = found.draining;
  l.cordoned = found.cordoned;
  l.cordoned_task = std::move(found.first_cordoned);
  return l;
}

bool explainer::has_no_worker(slot c) const {
  auto const& r = core_.closures[c];
  return r.state() == closure_state::queued && !r.sent() && !r.deferred() && without_worker(c);
}

void explainer::explain_exclusive(slot c, explanation& into) const {
  into.why = closure_reason::exclusive;
  auto const& keeps = core_.scheduler.exclusives.keeps;
  auto const* w = keeps.by == core_.closures.id_of(c) ? core_.registry.find(keeps.worker) : nullptr;
  if (!w) return;
  into.draining_worker = w->task->name();
  into.draining_closures = core_.scheduler.of(w->number).held();
}

bool explainer::explain_rebuild(closure_id input, time_point now, explanation& into) const {
  auto const* again = core_.values.find_rebuilding(input);
  if (!again) return false;
  into.why = closure_reason::input_made_again;
  into.input = input;
  auto& place = into.place.emplace();
  place.made_by = again->by;
  place.recomputing_for = now - again->since;
  auto const note = core_.values.note_of(input);
  slot const c = core_.closures.find(input);
  if (!note || c == no_slot) return true;
  place.bytes = note->bytes;
  if (note->why == release_reason::holder_lost)
    place.holders = {core_.places[core_.closures[c].place].worker};
  return true;
}

void explainer::explain_blocked(slot c, time_point now, explanation& into) const {
  auto const& d = *core_.closures[c].details;
  into.inputs = d.input_ids.size();
  into.inputs_missing = d.inputs_missing;
  for (auto const i : d.input_ids) {
    slot const input = core_.closures.find(i);
    if (input == no_slot || ended(core_.closures[input].state())) continue;
    into.why = closure_reason::input_not_ready;
    into.input = i;
    into.input_state = core_.closures[input].state();
    return;
  }
  // All inputs have finished, but some values are being read from disk or recomputed.
  for (auto const i : d.input_ids) {
    into.input = i;
    into.why = closure_reason::input_read_back;
    if (core_.values.find_reading(i)) return;
    if (explain_rebuild(i, now, into)) return;
  }
}

void explainer::explain_delayed(slot c, time_point now, explanation& into) const {
  auto const& r = core_.closures[c];
  auto const& d = *r.details;
  into.starts_in = d.start_at - now;
  into.retries = d.retries;
  if (d.extras) into.retries_max = d.extras->options.max_retries;
  bool const delays = d.extras && d.extras->options.delay > duration{};
  if (!r.restored && r.is_blamed_for_last_loss()) {
    into.why = closure_reason::pause;
    into.losses = d.workers_lost;
    return;
  }
  into.why = r.restored && d.retries == 0 && !delays ? closure_reason::may_return
             : d.retries > 0                         ? closure_reason::retry
             : d.lost.empty()                        ? closure_reason::delay
                                                     : closure_reason::pause;
}

void explainer::explain_prefetched(slot c, time_point now, explanation& into) const {
  auto const& r = core_.closures[c];
  into.why = closure_reason::prefetched;
  into.worker = core_.places[r.place].worker;
  into.prefetched_for = now - r.started;
  into.slots = core_.scheduler.of(r.worker).own_slots();
  into.retracted = r.retracted;
}

void explainer::explain_queued(slot c, time_point now, explanation& into) const {
  auto const& r = core_.closures[c];
  if (r.is(closure_phase::delayed)) return explain_delayed(c, now, into);
  if (r.sent()) return explain_prefetched(c, now, into);
  if (r.is(closure_phase::gathering) && !r.exclusive) {
    auto const& g = *core_.scheduler.gangs.find(r.details->gang);
    bool const fits = g.ready < g.size || !core_.scheduler.plan(g, false).empty();
    into.gang = wait_of(g, fits);
    into.why = g.ready < g.size ? closure_reason::gang_not_ready
               : fits           ? closure_reason::gang_waits
                                : closure_reason::gang_too_large;
    return;
  }
  bool const kept = core_.scheduler.exclusives.keeps.by == core_.closures.id_of(c);
  if (!kept) into.lack = without_worker(c);
  if (into.lack) {
    into.why = into.lack->why;
    return;
  }
  if (r.exclusive) return explain_exclusive(c, into);
  auto const f = core_.book.functions.totals(core_.book.functions.served(r.function));
  into.why = closure_reason::busy;
  into.function = f.name;
  into.function_workers = f.workers;
  into.function_queued = f.queued;
  into.function_running = f.running;
}

void explainer::explain_running(slot c, time_point now, explanation& into) const {
  auto const& r = core_.closures[c];
  auto const& w = core_.registry.of(r.worker);
  into.why = closure_reason::running;
  into.worker = core_.places[r.place].worker;
  into.lasted = now - r.started;
  into.stop_requested = r.stop_requested;
  if (r.waits) explain_waiting(c, now, into);
  if (!w.away) return;
  into.away_for = now - w.away_since;
  into.requeue_in = workers_.waits_until(w, c) - now;
}

void explainer::explain_waiting(slot c, time_point now, explanation& into) const {
  constexpr std::size_t name_begin = 10, name_digits = 64;
  into.waits.emplace();
  auto const* d = core_.closures[c].details.get();
  if (!d) return;
  for (auto const i : d->input_ids) {
    if (explain_rebuild(i, now, into)) return;
    slot const input = core_.closures.find(i);
    if (input == no_slot || into.waits->large.size() == value_wait::large_max) continue;
    auto const value = core_.closures[input].value.view();
    if (named_blob_bytes(value) > 0)
      into.waits->large.emplace_back(i, value.substr(name_begin, name_digits));
  }
}

void explainer::explain_ended(slot c, explanation& into) const {
  auto const& r = core_.closures[c];
  into.why = reason_of(r.state());
  if (r.state() != closure_state::succeeded) {
    into.error = r.details->failure;
    return;
  }
  into.worker = core_.places[r.place].worker;
  into.lasted = r.finished - r.started;
  if (r.where == value_place::gone) into.released = texts_.released_text(core_.closures.id_of(c));
}

void explainer::explain_loss(slot c, time_point now, explanation& into) const {
  auto const& r = core_.closures[c];
  if (r.exclusive) into.workers_lost = r.details->workers_lost;
  if (!r.details || r.details->lost.empty()) return;
  auto const& last = r.details->lost.back();
  into.lost_attempt = last.attempt;
  into.lost_worker = core_.places[last.place].worker;
  into.lost_ago = now - last.ended;
  into.lost = last.outcome;
}

explanation explainer::explain(slot c, time_point now) const {
  auto const& r = core_.closures[c];
  explanation e;
  e.closure = core_.closures.id_of(c);
  e.state = r.state();
  e.attempt = r.attempt;
  e.lasted = now - r.created;
  e.version = versions_.why_it_waits(c, now);
  explain_loss(c, now, e);
  if (r.state() == closure_state::blocked)
    explain_blocked(c, now, e);
  else if (r.state() == closure_state::queued)
    explain_queued(c, now, e);
  else if (r.state() == closure_state::running)
    explain_running(c, now, e);
  else
    explain_ended(c, e);
  return e;
}

}  // namespace muster::core
