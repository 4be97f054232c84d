// Values that were lost against everybody's will (memory was full and the disk did not take them,
// or did not give them back): when somebody needs one, the closure that made it runs again, as a
// closure of its own that belongs to no session, so that nothing is counted, cancelled or told
// twice. Its inputs may be lost as well and are made again first.
//
// What was released by age or number, or by its client, is not made again: that was the wish.
#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "server/core/coordinator_state.hpp"

namespace muster::core {

namespace {

/// Of one closure. More: whoever needs the value is told so.
constexpr std::uint32_t runs_max = 3;
/// Lost inputs of lost inputs. Deeper: as above.
constexpr std::uint32_t depth_max = 32;
/// Arguments of ended closures are kept for this. More: the oldest are forgotten.
constexpr std::uint64_t arguments_bytes_max = std::uint64_t{64} << 20;

bool was_lost(release_reason why) {
  return why == release_reason::bytes || why == release_reason::spill_bytes ||
         why == release_reason::unreadable;
}

}  // namespace

// Called for a closure that has just ended with a value that may be lost one day.
void coordinator::state::keep_arguments(slot c) {
  auto const has_arguments = [this](closure_id id) {
    slot const v = closures.find(id);
    return v != no_slot && closures[v].args;
  };
  ledger.arguments_bytes += closures[c].args.size();
  ledger.with_arguments.push(closures.id_of(c));
  ledger.with_arguments.sweep_if_long(has_arguments);
  while (ledger.arguments_bytes > arguments_bytes_max) {
    auto const oldest = ledger.with_arguments.front(has_arguments);
    ledger.with_arguments.pop();
    auto& args = closures[closures.find(oldest)].args;
    ledger.arguments_bytes -= args.size();
    args = {};
  }
}

bool coordinator::state::keeps_arguments(closure_record const& r) const {
  return config.spill && r.state == closure_state::succeeded && !r.released &&
         (r.owner->spec.keep_values || r.owner->holding()) &&
         r.value.size() >= config.spill_value_bytes_min;
}

/// Empty when the closure of a lost value can run again, else why not.
std::string coordinator::state::why_not_again(slot c) const {
  auto const& r = closures[c];
  auto const id = closures.id_of(c);
  if (ledger.rebuilds.contains(id)) return {};
  if (stopping) return "the server is shutting down";
  if (!was_lost(ledger.gone.at(id).why)) return "it was not lost";
  if (!r.args) return "its arguments are not known any more";
  if (auto const runs = ledger.runs.find(id); runs != ledger.runs.end() && runs->second >= runs_max)
    return "it was run again " + std::to_string(runs_max) + " times already";
  if (ledger.rebuild_depth >= depth_max)
    return "more than " + std::to_string(depth_max) + " inputs of inputs were lost with it";
  auto const* d = r.details.get();
  if (!d || !d->extras) return {};
  for (auto const v : d->extras->per_worker)
    if (!per_worker.find(v)) return text(v) + ", which it needs, was released";
  for (auto const input : d->input_ids)
    if (closures.find(input) == no_slot) return "its own input: " + unknown_value(input).message;
  return {};
}

/// What they are told who need the value and cannot have it.
std::string coordinator::state::lost_for_good(closure_id id) const {
  auto const note = ledger.gone.find(id);
  auto told = unknown_value(id).message;
  if (note == ledger.gone.end() || !was_lost(note->second.why)) return told;
  slot const c = closures.find(id);
  auto const why = why_not_again(c);
  return told + (why.empty() ? "" : "; " + text(id) + " cannot run again: " + why);
}

/// REQUIRES: its value is gone. Null when it cannot run again.
value_ledger::rebuilding* coordinator::state::run_again(slot c) {
  if (!why_not_again(c).empty()) return nullptr;
  auto const id = closures.id_of(c);
  auto const [it, added] = ledger.rebuilds.try_emplace(id);
  if (!added) return &it->second;
  auto& again = it->second;
  again.depth = ledger.rebuild_depth + 1;
  ++ledger.runs[id];
  ++ledger.runs_total;

  auto& r = closures[c];
  closure_spec spec;
  spec.function = r.owner->lanes[r.lane].function;
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
  slot const b = create(rebuilders, spec);
  again.by = closures.id_of(b);
  remember_attempt(c, "succeeded; its value was lost, it runs again as " + text(again.by));
  fx.remarks.push_back(
      {remark_kind::values_dropped, text(id),
       unknown_value(id).message + "; it is needed and runs again as " + text(again.by)});
  if (!spec.extras) return &again;
  auto const outer = std::exchange(ledger.rebuild_depth, again.depth);
  auto why = equip(rebuilders, b, std::move(spec.extras), {});
  ledger.rebuild_depth = outer;
  // Not at once: whoever asks has not yet said for what.
  if (!why.empty()) ledger.doomed.emplace_back(again.by, std::move(why));
  return &again;
}

void coordinator::state::fail_doomed() {
  for (auto& [id, why] : std::exchange(ledger.doomed, {}))
    if (slot const c = closures.find(id); c != no_slot && !ended(closures[c].state))
      fail(c, closure_state::failed, {failure_kind::input, "", std::move(why), "", "", 0});
}

// The closure that ran again has ended; its record is forgotten afterwards.
void coordinator::state::rebuilt(slot b) {
  auto& made = closures[b];
  auto const id = closure_id{made.token};
  auto node = ledger.rebuilds.extract(id);
  check(!node.empty(), "a closure runs again for somebody");
  bool const ok = made.state == closure_state::succeeded;
  std::string why;
  if (!ok)
    why = unknown_value(id).message + "; running " + text(id) +
          " again failed: " + made.details->failure.message;
  if (slot const c = closures.find(id);
      ok && c != no_slot && closures[c].where == value_place::gone) {
    auto& r = closures[c];
    auto& s = *r.owner;
    r.where = value_place::memory;
    r.value = made.value;
    ledger.gone.erase(id);
    s.value_bytes += r.value.size(), value_bytes += r.value.size();
    ledger.in_memory.push(id);
    if (s.holding()) ++s.live_values, s.values.push(id);
  }
  tell_readers(id, {0, std::move(node.mapped().dependents), {}, 0, false, false},
               ok ? &made.value : nullptr, why);
}

// So that it does not keep lanes, and with them requirements, for ever.
void coordinator::state::tidy_rebuilders() {
  if (rebuilders.lanes.empty() || !rebuilders.idle()) return;
  placement.forget(rebuilders);
  release_requirements(rebuilders);
  rebuilders.lanes.clear();
  rebuilders.lane_of.clear();
  rebuilders.first_error.reset();
}

}  // namespace muster::core
