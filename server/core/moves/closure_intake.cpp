// Into the queue, or blocked until the inputs are there.
#include "server/core/moves/closure_intake.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/check.hpp"

namespace muster::core {

slot closure_intake::create(session& s, closure_spec& spec) {
  slot const c = book_.create(s.number, spec, scheduler_.lane_for(s.number, spec), step_.now);
  if (s.holding() && spec.token != 0) s.by_token.emplace(spec.token, closures_.id_of(c));
  if (s.durable) step_.changed.accepted.back().closures.push_back(c);
  if (!spec.extras) scheduler_.push_back(c);
  return c;
}

void closure_intake::begin_request(session& s, std::size_t n) {
  if (!s.durable) return;
  step_.changed.accepted.push_back({s.id, {}});
  if (!s.holding()) return;
  auto const next = flow_.of(s).scheduled;
  book_.continue_at(s.number, s.requests.room_from(next, static_cast<std::uint32_t>(n)));
}

void closure_intake::note_request(session& s) {
  if (!s.durable) return;
  auto const& created = step_.changed.accepted.back().closures;
  if (created.empty()) return step_.changed.accepted.pop_back();
  if (s.holding())
    s.requests.add({closures_[created.front()].order, static_cast<std::uint32_t>(created.size())});
}

void closure_intake::form_gangs(session const& s, std::vector<closure_spec> const& specs,
                                std::vector<slot> const* restored) {
  for (std::size_t k = 0; k < specs.size(); ++k) {
    auto const& spec = specs[k];
    if (!spec.extras || spec.extras->options.gang.empty()) continue;
    if (restored ? closures_[(*restored)[k]].restored
                 : s.holding() && s.by_token.contains(spec.token))
      continue;  // it is in its gang, or that has started
    scheduler_.gangs.expect(spec.extras->options.gang);
  }
}

bool closure_intake::repeat(session& s, std::uint64_t token) {
  auto const it = s.by_token.find(token);
  if (it == s.by_token.end()) return false;
  slot const c = closures_.find(it->second);
  if (!ended(closures_[c].state)) return true;
  if (closures_[c].where != value_place::disk) {
    keeping_.do_not_repeat(s, it->second);  // a read that is under way is for others then
    step_.fx.outcomes.push_back(keeping_.outcome_of(c));
    return true;
  }
  auto& reading = values_.read(c);
  if (reading.repeat == session_id{}) ++s.repeating;
  reading.repeat = s.id;
  reading.token = token;
  return true;
}

// Scheduled and failed, not refused: what cannot be taken is an error of the session, or a join
// would pass over it.
void closure_intake::fail_all(session& s, std::vector<closure_spec>& specs, failure_kind kind,
                              std::string const& why) {
  std::vector<closure_id> created;
  begin_request(s, specs.size());
  for (auto& spec : specs) {
    if (repeat(s, spec.token)) continue;
    if (!book_.functions.knows(spec.function)) {  // no place in any queue
      step_.fx.outcomes.push_back(
          {s.id, spec.token, false, {}, failure{kind, "", why, "", "", 0}, {}});
      continue;
    }
    spec.extras = nullptr;
    created.push_back(closures_.id_of(create(s, spec)));
  }
  note_request(s);
  for (auto const id : created)
    if (slot const c = closures_.find(id); closures_[c].state == closure_state::queued)
      life_.fail(c, closure_state::failed, {kind, "", why, "", "", 0});
}

std::optional<failure> closure_intake::take_extras(slot c,
                                                   std::shared_ptr<closure_extras const> extras,
                                                   std::vector<slot> const& request) {
  auto const& x = *extras;
  auto& d = closures_[c].with_details();
  d.extras = std::move(extras);
  life_.use_per_worker(x);
  stateful_.use(closures_[c].owner, {x.options.task_job, x.options.task_index});
  if (!x.options.gang.empty() && !closures_[c].restored)
    d.gang = scheduler_.gangs.join(x.options.gang, closures_.id_of(c));
  auto const id = closures_.id_of(c);
  if (x.options.delay > duration{})
    d.start_at = std::max(d.start_at, closures_[c].created + x.options.delay);
  if (x.options.deadline > duration{}) {
    d.deadline = closures_[c].created + x.options.deadline;
    step_.alarms.set(d.deadline, alarm_kind::closure_deadline, raw(id));
  }
  std::optional<failure> failed;
  if (!x.inputs.empty()) d.inputs = std::make_shared<std::vector<blob>>(x.inputs.size());
  for (std::size_t k = 0; k < x.inputs.size(); ++k) {
    auto const& ref = x.inputs[k];
    slot const i =
        ref.closure == closure_id{} ? request[ref.position] : closures_.find(ref.closure);
    if (i == no_slot) {  // of a stream, where one bad input is no reason to refuse the rest
      failed = input_failure(texts_.unknown_value(ref.closure).message);
      d.input_ids.push_back(ref.closure);
      continue;
    }
    auto& input = closures_[i];
    d.input_ids.push_back(closures_.id_of(i));
    switch (input.state) {
      case closure_state::succeeded:
        if (input.where == value_place::gone) {
          if (auto* again = run_again(i)) {
            ++d.inputs_missing;
            if (again->dependents.empty() || again->dependents.back() != id)
              again->dependents.push_back(id);
          } else {
            failed = input_failure("input: " + lost_for_good(closures_.id_of(i)));
          }
        } else if (input.where == value_place::disk) {
          ++d.inputs_missing;
          if (auto& waiting = values_.read(i).dependents; waiting.empty() || waiting.back() != id)
            waiting.push_back(id);
        } else {
          (*d.inputs)[k] = input.value;
        }
        break;
      case closure_state::failed:
      case closure_state::cancelled:
        failed = life_.ended_as_input(i);
        break;
      default:
        ++d.inputs_missing;
        if (auto& waiting = input.with_details().dependents;
            waiting.empty() || waiting.back() != id)
          waiting.push_back(id);
    }
  }
  if (d.inputs_missing == 0 && !failed)
    if (auto why = life_.unfit_inputs(closures_[c]); !why.empty())
      failed = input_failure(std::move(why));
  if (d.inputs_missing == 0 && !failed) {
    life_.enqueue(c);
    return std::nullopt;
  }
  book_.block(c);
  scheduler_.defer(c);
  life_.check_later(c);
  return failed;
}

// Failures come last, because one may stop the session.
void closure_intake::end_request(std::vector<std::pair<closure_id, failure>>& unfit) {
  scheduler_.gangs.end_of_request();
  for (auto& [id, why] : unfit)
    if (slot const c = closures_.find(id); c != no_slot && !ended(closures_[c].state))
      life_.fail(c, closure_state::failed, std::move(why));
}

void closure_intake::resume(session& s, std::vector<closure_spec>& specs,
                            std::vector<slot> const& closures) {
  std::vector<std::pair<closure_id, failure>> unfit;
  auto const gone = [this](closure_extras const& x) -> std::string {
    for (auto const id : x.per_worker)
      if (!builds_.find(id)) return text(id) + " did not outlive the restart of the server";
    return {};
  };
  for (std::size_t k = 0; k < specs.size(); ++k) {
    auto& spec = specs[k];
    if (!spec.extras) continue;
    auto why = gone(*spec.extras);
    if (why.empty()) continue;
    spec.extras = nullptr;
    unfit.emplace_back(closures_.id_of(closures[k]), input_failure(std::move(why)));
  }
  form_gangs(s, specs, &closures);
  for (std::size_t k = 0; k < specs.size(); ++k) {
    slot const c = closures[k];
    closures_[c].lane = scheduler_.lane_for(s.number, specs[k]);
    if (!specs[k].extras) {
      closures_[c].details ? life_.enqueue(c) : scheduler_.push_back(c);
    } else if (auto why = take_extras(c, std::move(specs[k].extras), {})) {
      unfit.emplace_back(closures_.id_of(c), std::move(*why));
    }
  }
  end_request(unfit);
}

void closure_intake::schedule_closures(session& s, std::vector<closure_spec>& specs,
                                       std::vector<closure_id>* ids) {
  begin_request(s, specs.size());
  std::vector<slot> request;  // only kept while somebody may refer to it
  std::vector<std::pair<closure_id, failure>> unfit;
  bool const extras =
      std::any_of(specs.begin(), specs.end(), [](auto const& spec) { return spec.extras; });
  if (extras) form_gangs(s, specs);
  for (auto& spec : specs) {
    if (s.holding() && repeat(s, spec.token)) {
      auto const known = s.by_token.at(spec.token);
      if (ids) ids->push_back(known);
      if (extras) request.push_back(closures_.find(known));
      continue;
    }
    slot const c = create(s, spec);
    if (ids) ids->push_back(closures_.id_of(c));
    if (extras) request.push_back(c);
    if (auto why = s.spec.require_function ? unserved(spec.function, s.spec) : std::string();
        !why.empty())
      unfit.emplace_back(closures_.id_of(c),
                         failure{failure_kind::stale_handle, "", std::move(why), "", "", 0});
    if (!spec.extras) continue;
    if (auto why = take_extras(c, std::move(spec.extras), request))
      unfit.emplace_back(closures_.id_of(c), std::move(*why));
  }
  note_request(s);
  end_request(unfit);
  if (!s.full && s.streaming() &&
      (flow_.of(s).waiting() >= s.capacity ||
       (closures_.size() >= step_.config.closures_max && !s.holding())))
    flow_.hold_back(s);
}

}  // namespace muster::core
