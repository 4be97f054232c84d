// Keeping, dropping and telling of values.
#include "server/core/moves/value_keeping.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/check.hpp"

namespace muster::core {

namespace {
constexpr duration remark_pause = std::chrono::minutes(1);
}  // namespace

value_reply value_keeping::value_of(slot c) const {
  auto const& r = closures_[c];
  value_reply v;
  v.state = r.state;
  v.value = value_state::ready;
  v.data = r.value;
  if (r.state == closure_state::failed || r.state == closure_state::cancelled)
    v.failure = r.details->failure;
  if (v.failure.kind == failure_kind::worker_lost) v.value = value_state::aborted;
  return v;
}

outcome value_keeping::outcome_of(slot c) const {
  auto const& r = closures_[c];
  auto const id = closures_.id_of(c);
  outcome o{
      sessions_.of(r.owner).id, r.token, r.state == closure_state::succeeded, r.value, {}, id};
  if (!o.ok) o.failure = r.details->failure;
  if (r.where != value_place::gone) return o;
  o.ok = false;
  if (!o.failure) o.failure.emplace();
  o.failure->kind = failure_kind::cancelled;
  o.failure->message = texts_.released_text(id);
  o.failure->attempt = r.attempt;
  return o;
}

// The closure that ran again has ended; its record is forgotten afterwards.
void value_keeping::rebuilt(slot b) {
  auto& made = closures_[b];
  auto const id = closure_id{made.token};
  bool const ok = made.state == closure_state::succeeded;
  std::string why;
  if (!ok)
    why = texts_.unknown_value(id).message + "; running " + text(id) +
          " again failed: " + made.details->failure.message;
  auto done = values_.end_rebuilding(id, ok ? &made.value : nullptr);
  tell_readers(id, {0, std::move(done.dependents), {}, 0, false, false}, ok ? &made.value : nullptr,
               why);
}

void value_keeping::keep_value(slot c) {
  auto const& r = closures_[c];
  values_.keep(c);
  auto& s = sessions_.of(r.owner);
  if (s.holding() && r.state == closure_state::succeeded && s.age_alarm == never)
    flow_.set_age_alarm(s, step_.now);
}

void value_keeping::drop_value(slot c, release_reason why) {
  values_.drop(c, why, step_.now);
  flow_.note(sessions_.of(closures_[c].owner), c);
  ++step_.metrics.values_dropped[static_cast<std::size_t>(why)];
  if (step_.now < dropped_remark_at_) return;
  dropped_remark_at_ = step_.now + remark_pause;
  step_.fx.remarks.push_back({remark_kind::values_dropped, "values",
                              texts_.released_text(closures_.id_of(c)) +
                                  "; more of them within the next minute go without a line"});
}

void value_keeping::limit_values(session& s) {
  while (auto const why = values_.over_session_limit(s.number)) {
    auto const id = values_.oldest_of(s.number);
    check(id != closure_id{}, "a session with values knows them");
    values_.pop_oldest_of(s.number);
    drop_value(closures_.find(id), *why);
  }
}

void value_keeping::do_not_repeat(session& s, closure_id id) {
  auto* read = values_.find_reading(id);
  if (!read || read->repeat == session_id{}) return;
  read->repeat = {};
  --s.repeating;
  flow_.settle_later(s);
}

void value_keeping::written(value_moved& m) {
  slot const c = closures_.find(m.closure);
  bool const pending = c != no_slot && closures_[c].where == value_place::writing;
  auto const done = values_.written(m, step_.now);
  if (done.worth_a_line)
    step_.fx.remarks.push_back({remark_kind::spill_failed, "values",
                                m.error +
                                    "; values stay in memory up to --value-bytes-max, beyond it "
                                    "the oldest are dropped"});
  if (pending && !done.failed) ++step_.metrics.values_written;
}

// Those who asked: calls, closures that need it, a client that wants the outcome again.
void value_keeping::tell_readers(closure_id id, value_store::reading reading, blob const* value,
                                 std::string why) {
  for (auto const call : step_.waiters.of(id)) {
    waiter w;
    step_.waiters.remove(call, &w);
    step_.metrics.value_wait.add(step_.now - w.since);
    if (value)
      step_.answer(call, {}, value_reply{closure_state::succeeded, value_state::ready, *value, {}});
    else
      step_.answer(call, {code::not_found, why});
  }
  if (!reading.dependents.empty())
    step_.ended_inputs.push_back({id, value != nullptr, value ? *value : blob(),
                                  value ? failure{} : input_failure("input: " + why),
                                  std::move(reading.dependents)});
  if (reading.repeat == session_id{}) return;
  auto* s = sessions_.find(reading.repeat);
  check(s, "a session stays until its outcomes are repeated");
  --s->repeating;
  flow_.settle_later(*s);
  if (slot const c = closures_.find(id); c != no_slot) {
    auto o = outcome_of(c);
    if (o.ok && value && !closures_[c].released) o.value = *value;
    step_.fx.outcomes.push_back(std::move(o));
  } else {
    auto& o = step_.fx.outcomes.emplace_back();
    o.session = reading.repeat;
    o.token = reading.token;
    o.ok = value != nullptr;
    if (value) o.value = *value;
    if (!o.ok) o.failure = core::failure{failure_kind::cancelled, "", why, "", "", 0};
  }
}

}  // namespace muster::core
