#include "server/core/transitions/lifecycle/value_keeping.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace muster::core {

value_reply value_keeping::value_of(slot c) const {
  auto const& r = core_.closures[c];
  value_reply v;
  v.state = r.state();
  v.value = value_state::ready;
  v.data = r.value;
  if (r.state() == closure_state::failed || r.state() == closure_state::cancelled)
    v.failure = r.details->failure;
  if (v.failure.kind == failure_kind::worker_lost) v.value = value_state::aborted;
  return v;
}

outcome value_keeping::outcome_of(slot c) const {
  auto const& r = core_.closures[c];
  auto const id = core_.closures.id_of(c);
  outcome o{core_.sessions.of(r.owner).id,
            r.token,
            r.state() == closure_state::succeeded,
            r.value,
            {},
            id};
  if (!o.ok) o.failure = r.details->failure;
  if (r.where != value_place::gone) return o;
  o.ok = false;
  if (!o.failure) o.failure.emplace();
  o.failure->kind = failure_kind::cancelled;
  o.failure->message = texts_.released_text(id);
  o.failure->attempt = r.attempt;
  return o;
}

// Called when the rebuilding closure has finished, before its record is deleted.
void value_keeping::rebuilt(slot b) {
  auto& made = core_.closures[b];
  auto const id = closure_id{made.token};
  bool const ok = made.state() == closure_state::succeeded;
  // In a chain of lost values, the message names the value that could not be rebuilt. A function
  // that ran can fail with its own input error, so the attempt number is checked as well.
  bool const for_input =
      !ok && made.attempt == 0 && made.details->failure.kind == failure_kind::input;
  std::string why;
  if (for_input)
    why = made.details->failure.message;
  else if (!ok)
    why = texts_.unknown_value(id).message + "; running " + text(id) +
          " again failed: " + made.details->failure.message;
  auto done = core_.values.end_rebuilding(id, ok ? &made.value : nullptr);
  core_.lineage.look_at(id);
  notify_readers(id, {0, std::move(done.dependents), {}, 0, false, false},
                 ok ? &made.value : nullptr, why, for_input);
}

void value_keeping::keep_value(slot c) {
  auto const& r = core_.closures[c];
  core_.values.keep(c);
  auto& s = core_.sessions.of(r.owner);
  if (s.traits().resumable && r.state() == closure_state::succeeded && s.age_alarm == never)
    flow_.set_age_alarm(s, core_.step.now);
}

void value_keeping::drop_value(slot c, release_reason why) {
  auto const id = core_.closures.id_of(c);
  core_.lineage.not_copied(id);
  if (!value_store::lost(why) && !core_.lineage.is_alone(id)) core_.lineage.forget_user(id);
  core_.values.drop(c, why, core_.step.now);
}

void value_keeping::limit_values(session& s) {
  while (auto const why = core_.values.over_session_limit(s.number)) {
    auto const id = core_.values.oldest_of(s.number);
    check(id != closure_id{}, "a session that is over its limit must list a value to drop");
    core_.values.pop_oldest_of(s.number);
    drop_value(core_.closures.find(id), *why);
  }
}

void value_keeping::do_not_repeat(session& s, closure_id id) {
  auto* read = core_.values.find_reading(id);
  if (!read || read->repeat == session_id{}) return;
  read->repeat = {};
  --s.repeating;
  flow_.settle_later(s);
}

void value_keeping::written(value_moved& m) {
  auto const done = core_.values.written(m, core_.step.now);
  if (done.worth_a_line) core_.step.report_incident(incidents::spill_failed{m.error});
}

void value_keeping::notify_readers(closure_id id, value_store::reading reading, blob const* value,
                                   std::string why, bool for_input) {
  for (auto const call : core_.step.waiters.of(id)) {
    waiter w;
    core_.step.waiters.remove(call, &w);
    core_.step.fx.changes.waits.value.push_back(core_.step.now - w.since);
    if (value)
      core_.step.answer(call, {},
                        value_reply{closure_state::succeeded, value_state::ready, *value, {}});
    else
      core_.step.answer(call, {code::not_found, why});
  }
  if (!reading.dependents.empty())
    core_.step.ended_inputs.push_back(
        {id, value != nullptr, value ? *value : blob(),
         value ? failure{} : input_failure(for_input ? why : "input: " + why),
         std::move(reading.dependents)});
  if (reading.repeat == session_id{}) return;
  auto* s = core_.sessions.find(reading.repeat);
  check(s, "a session must exist until its results have been repeated");
  --s->repeating;
  flow_.settle_later(*s);
  if (slot const c = core_.closures.find(id); c != no_slot) {
    auto o = outcome_of(c);
    if (o.ok && value && !core_.closures[c].released) o.value = *value;
    core_.step.fx.outcomes.push_back(std::move(o));
  } else {
    auto& o = core_.step.fx.outcomes.emplace_back();
    o.session = reading.repeat;
    o.token = reading.token;
    o.ok = value != nullptr;
    if (value) o.value = *value;
    if (!o.ok) o.failure = core::failure{failure_kind::cancelled, "", why, "", "", 0};
  }
}

}  // namespace muster::core
