#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "server/core/transitions/admission/admission.hpp"

namespace muster::core {

std::string admission::why_not_again(slot c) const {
  auto const& r = core_.closures[c];
  auto const id = core_.closures.id_of(c);
  if (core_.values.find_rebuilding(id)) return {};
  if (core_.step.stopping) return "the server is shutting down";
  bool const for_others =
      core_.lineage.is_alone(id) && (rebuild_depth_ > 0 || core_.lineage.is_needed_now(id));
  if (!value_store::lost(core_.values.note_of(id)->why) && !for_others) return "it was not lost";
  if (!r.args) return "its arguments are no longer stored";
  if (core_.values.runs_of(id) >= value_store::runs_max)
    return "it has already been recomputed " + std::to_string(value_store::runs_max) + " times";
  if (rebuild_depth_ >= value_store::depth_max)
    return "more than " + std::to_string(value_store::depth_max) +
           " levels of its inputs were also lost";
  auto const* d = r.details.get();
  if (!d || !d->extras) return {};
  for (auto const v : d->extras->per_worker)
    if (!core_.builds.find(v)) return text(v) + ", which the closure needs, was released";
  for (std::size_t k = 0; k < d->input_ids.size(); ++k)
    if (core_.closures.find(d->input_ids[k]) == no_slot && !small_input(*d, k))
      return "its own input: " + texts_.unknown_value(d->input_ids[k]).message;
  return {};
}

// Ignores large inputs, because they can be lost as well or can have a new name.
blob const* admission::small_input(closure_details const& d, std::size_t k) {
  if (!d.inputs) return nullptr;
  auto const& value = (*d.inputs)[k];
  return value && !value_store::is_name(value) ? &value : nullptr;
}

std::string admission::lost_for_good(closure_id id) const {
  auto const note = core_.values.note_of(id);
  auto told = texts_.unknown_value(id).message;
  if (!note || (!value_store::lost(note->why) && !core_.lineage.is_alone(id))) return told;
  slot const c = core_.closures.find(id);
  auto const why = why_not_again(c);
  return told + (why.empty() ? "" : "; " + text(id) + " cannot run again: " + why);
}

value_store::rebuilding* admission::run_again(slot c) {
  if (!why_not_again(c).empty()) return nullptr;
  auto const id = core_.closures.id_of(c);
  if (auto* already = core_.values.find_rebuilding(id)) return already;
  auto& again = core_.values.begin_rebuilding(id, rebuild_depth_ + 1, core_.step.now);

  auto& r = core_.closures[c];
  closure_spec spec;
  core_.book.functions.name(r.function, spec);
  spec.token = raw(id);
  spec.args = r.args;
  if (r.details && r.details->extras) {
    auto x = std::make_shared<closure_extras>(*r.details->extras);
    x->options.gang.clear();
    x->options.delay = x->options.deadline = {};
    for (std::size_t k = 0; k < x->inputs.size(); ++k)
      x->inputs[k].closure = r.details->input_ids[k];
    spec.extras = std::move(x);
  }
  slot const b = create(core_.rebuilders, spec);
  again.by = core_.closures.id_of(b);
  life_.remember_attempt(c, {attempt_end::value_lost, {}, again.by});
  auto const note = core_.values.note_of(id);
  core_.step.report_incident(
      incidents::closure_runs_again{id, again.by, note->why, core_.step.now - note->at});
  if (!spec.extras) return &again;
  auto const outer = std::exchange(rebuild_depth_, again.depth);
  auto why = take_extras(b, std::move(spec.extras), {}, r.details.get());
  rebuild_depth_ = outer;
  // deferred, because the caller has not yet recorded which requesters need the value
  if (why) core_.step.failed_inputs.emplace_back(again.by, std::move(*why));
  return &again;
}

// Without this cleanup, the queues and requirements of finished rebuilds would be kept forever.
void admission::tidy_rebuilders() {
  if (core_.scheduler.queue(core_.rebuilders.number).queues.empty() ||
      !flow_.idle(core_.rebuilders))
    return;
  core_.scheduler.clear_queues(core_.rebuilders.number);
  core_.rebuilders.first_error.reset();
}

void admission::moved(values_moved& e) {
  for (auto& m : e.moves) {
    if (m.kind == move_kind::lost)
      lost(m);
    else if (m.kind == move_kind::copy)
      copied(m.closure);
    else
      m.kind == move_kind::write ? keeping_.written(m) : read_back(m);
  }
}

void admission::lost(value_moved const& m) {
  slot const c = core_.closures.find(m.closure);
  if (c == no_slot || core_.closures[c].state() != closure_state::succeeded ||
      core_.closures[c].where != value_place::memory || !names_blob(core_.closures[c].value.view()))
    return;
  core_.step.report_incident(incidents::value_unreadable{m.closure, m.error});
  keeping_.drop_value(c, release_reason::holder_lost);
}

void admission::copied(closure_id id) {
  slot const c = core_.closures.find(id);
  if (c == no_slot || !core_.values.has_value(id) || !value_store::is_name(core_.closures[c].value))
    return;
  core_.values.forget_arguments(c);
  core_.lineage.copied(id);
}

void admission::read_back(value_moved& m) {
  auto reading = core_.values.read_back(m);
  if (!reading) return;
  slot const c = core_.closures.find(m.closure);
  if (m.ok) {
    core_.step.fx.changes.values_read.push_back(m.closure);
  } else {
    core_.step.report_incident(incidents::value_unreadable{m.closure, m.error});
    if (!reading->orphan) keeping_.drop_value(c, release_reason::unreadable);
    if (!reading->orphan && reading->repeat == session_id{})
      if (auto* again = run_again(c)) {
        auto& waiting = again->dependents;
        waiting.insert(waiting.end(), reading->dependents.begin(), reading->dependents.end());
        return;
      }
  }
  keeping_.notify_readers(m.closure, std::move(*reading), m.ok ? &m.value : nullptr,
                          m.ok ? std::string() : lost_for_good(m.closure));
}

}  // namespace muster::core
