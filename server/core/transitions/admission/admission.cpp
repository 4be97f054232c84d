#include "server/core/transitions/admission/admission.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace muster::core {

namespace {

/// A closure leaves its gang once its first attempt has started.
bool has_started(closure_record const& r) {
  return r.restored || r.attempt > 0;
}

}  // namespace

slot admission::create(session& s, closure_spec& spec) {
  slot const c =
      core_.book.create(s.number, spec, core_.scheduler.queue_for(s.number, spec), core_.step.now);
  if (s.traits().resumable && spec.token != 0)
    s.by_token.emplace(spec.token, core_.closures.id_of(c));
  if (!spec.extras) core_.scheduler.push_back(c);
  return c;
}

void admission::begin_request(session& s, std::size_t n) {
  if (!s.durable || !s.traits().resumable) return;
  auto const next = flow_.of(s).scheduled;
  core_.book.continue_at(s.number, s.requests.room_from(next, static_cast<std::uint32_t>(n)));
}

void admission::form_gangs(session const& s, std::vector<closure_spec> const& specs,
                           std::vector<slot> const* restored) {
  for (std::size_t k = 0; k < specs.size(); ++k) {
    auto const& spec = specs[k];
    if (!spec.extras || spec.extras->options.gang.empty()) continue;
    if (restored ? has_started(core_.closures[(*restored)[k]])
                 : s.traits().resumable && s.by_token.contains(spec.token))
      continue;
    core_.scheduler.gangs.expect(spec.extras->options.gang);
  }
}

bool admission::repeat(session& s, std::uint64_t token) {
  auto const it = s.by_token.find(token);
  if (it == s.by_token.end()) return false;
  slot const c = core_.closures.find(it->second);
  if (!ended(core_.closures[c].state())) return true;
  if (core_.closures[c].where != value_place::disk) {
    keeping_.do_not_repeat(s, it->second);  // a read in progress then serves only other readers
    core_.step.fx.outcomes.push_back(keeping_.outcome_of(c));
    return true;
  }
  auto& reading = core_.values.read(c);
  if (reading.repeat == session_id{}) ++s.repeating;
  reading.repeat = s.id;
  reading.token = token;
  return true;
}

// Scheduled closures fail instead of being refused, so that the problem becomes a session error,
// which a join reports.
void admission::fail_all(session& s, std::vector<closure_spec>& specs, failure_kind kind,
                         std::string const& why) {
  std::vector<closure_id> created;
  begin_request(s, specs.size());
  for (auto& spec : specs) {
    if (repeat(s, spec.token)) continue;
    if (!core_.book.functions.knows(spec.function)) {  // no queue exists for an unknown function
      core_.step.fx.outcomes.push_back(
          {s.id, spec.token, false, {}, failure{kind, "", why, "", "", 0}, {}});
      continue;
    }
    spec.extras = nullptr;
    created.push_back(core_.closures.id_of(create(s, spec)));
  }
  for (auto const id : created)
    if (slot const c = core_.closures.find(id); core_.closures[c].state() == closure_state::queued)
      life_.fail(c, closure_state::failed, {kind, "", why, "", "", 0});
}

std::optional<failure> admission::take_extras(slot c, std::shared_ptr<closure_extras const> extras,
                                              std::vector<slot> const& request,
                                              closure_details const* former) {
  auto const& x = *extras;
  auto& d = core_.closures[c].with_details();
  d.extras = std::move(extras);
  life_.use_per_worker(x);
  core_.stateful.use(core_.closures[c].owner, {x.options.task_job, x.options.task_index});
  if (!x.options.gang.empty() && !has_started(core_.closures[c]))
    d.gang = core_.scheduler.gangs.join(x.options.gang, core_.closures.id_of(c));
  auto const id = core_.closures.id_of(c);
  if (x.options.delay > duration{})
    d.start_at = std::max(d.start_at, core_.closures[c].created + x.options.delay);
  if (x.options.deadline > duration{}) {
    d.deadline = core_.closures[c].created + x.options.deadline;
    core_.step.alarms.set(d.deadline, alarm_kind::closure_deadline, raw(id));
  }
  std::optional<failure> failed;
  if (!x.inputs.empty()) d.inputs = std::make_shared<std::vector<blob>>(x.inputs.size());
  for (std::size_t k = 0; k < x.inputs.size(); ++k) {
    auto const& ref = x.inputs[k];
    if (auto const* kept = former ? small_input(*former, k) : nullptr) {
      d.input_ids.push_back(ref.closure);
      (*d.inputs)[k] = *kept;
      continue;
    }
    slot const i =
        ref.closure == closure_id{} ? request[ref.position] : core_.closures.find(ref.closure);
    if (i == no_slot) {  // in a stream, the other closures are still accepted
      failed = input_failure(texts_.unknown_value(ref.closure).message);
      d.input_ids.push_back(ref.closure);
      continue;
    }
    auto& input = core_.closures[i];
    d.input_ids.push_back(core_.closures.id_of(i));
    switch (input.state()) {
      case closure_state::succeeded:
        if (input.where == value_place::gone) {
          if (auto* again = run_again(i)) {
            ++d.inputs_missing;
            if (again->dependents.empty() || again->dependents.back() != id)
              again->dependents.push_back(id);
          } else {
            failed = input_failure("input: " + lost_for_good(core_.closures.id_of(i)));
          }
        } else if (input.where == value_place::disk) {
          ++d.inputs_missing;
          if (auto& waiting = core_.values.read(i).dependents;
              waiting.empty() || waiting.back() != id)
            waiting.push_back(id);
        } else {
          life_.use_input(c, k, input.value);
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
    if (auto why = life_.unfit_inputs(core_.closures[c]); !why.empty())
      failed = input_failure(std::move(why));
  if (d.inputs_missing == 0 && !failed) {
    life_.enqueue(c);
    return std::nullopt;
  }
  core_.book.block(c);
  core_.scheduler.defer(c);
  life_.check_later(c);
  return failed;
}

// Failures are applied last, because a failure can stop the session.
void admission::end_request(std::vector<std::pair<closure_id, failure>>& unfit) {
  core_.scheduler.gangs.end_of_request();
  for (auto& [id, why] : unfit)
    if (slot const c = core_.closures.find(id); c != no_slot && !ended(core_.closures[c].state()))
      life_.fail(c, closure_state::failed, std::move(why));
}

void admission::resume(session& s, std::vector<closure_spec>& specs,
                       std::vector<slot> const& closures) {
  std::vector<std::pair<closure_id, failure>> unfit;
  auto const gone = [this](closure_extras const& x) -> std::string {
    for (auto const id : x.per_worker)
      if (!core_.builds.find(id)) return text(id) + " was lost when the server restarted";
    return {};
  };
  for (std::size_t k = 0; k < specs.size(); ++k) {
    auto& spec = specs[k];
    if (!spec.extras) continue;
    auto why = gone(*spec.extras);
    if (why.empty()) continue;
    spec.extras = nullptr;
    unfit.emplace_back(core_.closures.id_of(closures[k]), input_failure(std::move(why)));
  }
  form_gangs(s, specs, &closures);
  for (std::size_t k = 0; k < specs.size(); ++k) {
    slot const c = closures[k];
    core_.closures[c].queue = core_.scheduler.queue_for(s.number, specs[k]);
    if (!specs[k].extras) {
      core_.closures[c].details ? life_.enqueue(c) : core_.scheduler.push_back(c);
    } else if (auto why = take_extras(c, std::move(specs[k].extras), {})) {
      unfit.emplace_back(core_.closures.id_of(c), std::move(*why));
    }
  }
  end_request(unfit);
}

void admission::schedule_closures(session& s, std::vector<closure_spec>& specs,
                                  std::vector<closure_id>* ids) {
  begin_request(s, specs.size());
  std::vector<slot> request;  // filled only if inputs can refer to these closures
  std::vector<std::pair<closure_id, failure>> unfit;
  bool const extras =
      std::any_of(specs.begin(), specs.end(), [](auto const& spec) { return spec.extras; });
  if (extras) form_gangs(s, specs);
  for (auto& spec : specs) {
    if (s.traits().resumable && repeat(s, spec.token)) {
      auto const known = s.by_token.at(spec.token);
      if (ids) ids->push_back(known);
      if (extras) request.push_back(core_.closures.find(known));
      continue;
    }
    slot const c = create(s, spec);
    if (ids) ids->push_back(core_.closures.id_of(c));
    if (extras) request.push_back(c);
    if (auto why = s.spec.require_function ? unserved(spec.function, s.spec) : std::string();
        !why.empty())
      unfit.emplace_back(core_.closures.id_of(c),
                         failure{failure_kind::stale_handle, "", std::move(why), "", "", 0});
    if (!spec.extras) continue;
    if (auto why = take_extras(c, std::move(spec.extras), request))
      unfit.emplace_back(core_.closures.id_of(c), std::move(*why));
  }
  end_request(unfit);
  if (!s.full && s.traits().generations &&
      (flow_.of(s).waiting() >= s.capacity ||
       (core_.closures.size() >= core_.step.config.closures_max && !s.traits().resumable)))
    core_.sessions.hold_back(s, true);
}

}  // namespace muster::core
