// What closures may ask for beyond running once, as soon as they can:
//
//   inputs     BLOCKED until the closures whose outputs are arguments have succeeded
//   delay      queued, but apart from its lane until its start
//   retries    a user error puts it apart for a while instead of ending it
//   deadline   of a closure or a job: TIMEOUT; what runs is asked to stop and ends when it answers
#include <algorithm>

#include "base/check.hpp"
#include "server/core/coordinator_state.hpp"

namespace muster::core {

namespace {

constexpr std::size_t inputs_max = 1'000;
constexpr std::int32_t priority_max = 1'000'000;
constexpr std::uint32_t retries_max = 10'000;
constexpr duration time_max = std::chrono::hours(24 * 365);

status bad(std::string message) {
  return {code::invalid_argument, std::move(message)};
}

bool within(duration d) {
  return d >= duration{} && d <= time_max;
}

// Doubled with each retry up to the limit, less up to a quarter of it, so that closures that failed
// together do not come back together.
duration pause_before(closure_options const& o, std::uint32_t retry, std::uint64_t id) {
  auto pause = o.retry_initial;
  for (std::uint32_t i = 1; i < retry && pause < o.retry_max; ++i) pause *= 2;
  pause = std::min(pause, o.retry_max);
  auto hash = (id + retry) * 0x9E3779B97F4A7C15u;
  hash ^= hash >> 32;
  return pause - pause / 4 * static_cast<std::int64_t>(hash % 1024) / 1024;
}

}  // namespace

status coordinator::state::valid_extras(closure_spec const& spec, std::string const& at,
                                        std::size_t position, bool streaming) const {
  auto const& x = *spec.extras;
  auto const& o = x.options;
  if (o.priority > priority_max || o.priority < -priority_max)
    return bad(at + "options.priority: the limit is " + std::to_string(priority_max));
  if (o.max_retries > retries_max)
    return bad(at + "options.max_retries: the limit is " + std::to_string(retries_max));
  if (!within(o.delay)) return bad(at + "options.delay: not between 0 and 365 days");
  if (!within(o.deadline)) return bad(at + "options.deadline: not between 0 and 365 days");
  if (!within(o.retry_initial) || !within(o.retry_max))
    return bad(at + "options.retry: a pause is not between 0 and 365 days");
  if (x.inputs.size() > inputs_max)
    return bad(at + "args: refer to " + std::to_string(x.inputs.size()) +
               " RemoteValues, the limit is " + std::to_string(inputs_max));
  if (auto needs = valid_needs(x, at); !needs.ok()) return needs;
  std::uint32_t gap = 0;
  for (auto const& i : x.inputs) {
    if (i.offset < gap || i.offset > spec.args.size())
      return bad(at + "args: the gaps for inputs are not in order, or not within");
    gap = i.offset;
    if (i.closure == closure_id{} && i.position >= position)
      return bad(at + "args: refer to position " + std::to_string(i.position) +
                 ", which is not an earlier closure of the request");
    if (!streaming && i.closure != closure_id{} && closures.find(i.closure) == no_slot)
      return {code::not_found, at + "args: " + unknown_value(i.closure).message};
  }
  return {};
}

status coordinator::state::valid(session_spec const& spec) const {
  if (spec.queue_capacity > config.queue_capacity_max)
    return bad("queue_capacity: " + std::to_string(spec.queue_capacity) + ", the limit is " +
               std::to_string(config.queue_capacity_max));
  if (spec.max_worker_failures > worker_failures_max)
    return bad("max_worker_failures: " + std::to_string(spec.max_worker_failures) +
               ", the limit is " + std::to_string(worker_failures_max));
  if (spec.weight == 0 || spec.weight > 1'000) return bad("weight: not between 1 and 1000");
  if (!within(spec.deadline)) return bad("deadline: not between 0 and 365 days");
  if (spec.grace < duration{} || spec.grace > config.session_grace_max)
    return bad("session_grace: not between 0 and " +
               std::to_string(config.session_grace_max / std::chrono::seconds(1)) + " s");
  return {};
}

std::string coordinator::state::equip(session& s, slot c,
                                      std::shared_ptr<closure_extras const> extras,
                                      std::vector<slot> const& request) {
  auto const& x = *extras;
  auto& d = closures[c].rare();
  d.extras = std::move(extras);
  use_per_worker(x);
  if (!x.options.gang.empty()) join_gang(c);
  auto const id = closures.id_of(c);
  if (x.options.delay > duration{}) d.start_at = now + x.options.delay;
  if (x.options.deadline > duration{}) {
    d.deadline = now + x.options.deadline;
    alarms.set(d.deadline, alarm_kind::closure_deadline, raw(id));
  }
  std::string failed;
  if (!x.inputs.empty()) d.inputs = std::make_shared<std::vector<blob>>(x.inputs.size());
  for (std::size_t k = 0; k < x.inputs.size(); ++k) {
    auto const& ref = x.inputs[k];
    slot const i = ref.closure == closure_id{} ? request[ref.position] : closures.find(ref.closure);
    if (i == no_slot) {  // of a stream, where one bad input is no reason to refuse the rest
      failed = unknown_value(ref.closure).message;
      d.input_ids.push_back(ref.closure);
      continue;
    }
    auto& input = closures[i];
    d.input_ids.push_back(closures.id_of(i));
    switch (input.state) {
      case closure_state::succeeded:
        if (input.where == value_place::gone) {
          if (auto* again = run_again(i)) {
            ++d.inputs_missing;
            if (again->dependents.empty() || again->dependents.back() != id)
              again->dependents.push_back(id);
          } else {
            failed = "input: " + lost_for_good(closures.id_of(i));
          }
        } else if (input.where == value_place::disk) {
          ++d.inputs_missing;
          if (auto& waiting = read_value(i).dependents; waiting.empty() || waiting.back() != id)
            waiting.push_back(id);
        } else {
          (*d.inputs)[k] = input.value;
        }
        break;
      case closure_state::failed:
      case closure_state::cancelled:
        failed = ended_as_input(i);
        break;
      default:
        ++d.inputs_missing;
        if (auto& waiting = input.rare().dependents; waiting.empty() || waiting.back() != id)
          waiting.push_back(id);
    }
  }
  if (d.inputs_missing == 0 && failed.empty()) failed = unfit_inputs(d);
  if (d.inputs_missing == 0 && failed.empty()) {
    enqueue(c);
    return {};
  }
  closures[c].state = closure_state::blocked;
  --s.counts.queued, ++s.counts.blocked;
  --counts.queued, ++counts.blocked;
  ++functions[s.lanes[closures[c].lane].function].waiting;
  set_apart(c);
  judge_later(c);
  return failed;
}

void coordinator::state::set_apart(slot c) {
  auto& s = *closures[c].owner;
  closures.push_back(s.apart, c);
  ++s.lanes[closures[c].lane].apart;
}

void coordinator::state::end_apart(slot c) {
  auto& s = *closures[c].owner;
  closures.remove(s.apart, c);
  --s.lanes[closures[c].lane].apart;
}

void coordinator::state::enqueue(slot c) {
  auto& r = closures[c];
  auto& s = *r.owner;
  auto& f = functions[s.lanes[r.lane].function];
  r.state = closure_state::queued;
  judge_later(c);
  if (!r.details || r.details->start_at <= now) {
    if (r.details) r.details->ready_at = now;
    if (r.details && r.details->gang != 0) return wait_for_gang(c);
    ++f.queued;
    return placement.push_back(s, c);
  }
  ++f.waiting;
  r.delayed = true;
  set_apart(c);
  alarms.set(r.details->start_at, alarm_kind::start, raw(closures.id_of(c)));
}

bool coordinator::state::retry(worker& w, slot c, core::failure const& f) {
  auto& r = closures[c];
  auto& s = *r.owner;
  auto* d = r.details.get();
  if (!d || !d->extras || s.stopping || r.stop_requested) return false;
  auto const& o = d->extras->options;
  if (d->retries >= o.max_retries) return false;
  ++d->retries;
  remember_attempt(c, "failed: " + f.message);
  auto& function = functions[s.lanes[r.lane].function];
  let_go(w, c);
  --s.counts.running, ++s.counts.queued;
  --counts.running, ++counts.queued;
  --function.running;
  ++s.retried;
  ++retried;
  d->start_at = now + pause_before(o, d->retries, raw(closures.id_of(c)));
  enqueue(c);
  return true;
}

void coordinator::state::ring(alarm const& a) {
  if (a.kind == alarm_kind::job_deadline) {
    if (auto* s = find_session(session_id{a.id})) expire(*s);
    return;
  }
  if (a.kind == alarm_kind::session_lease) return lease_rang(*find_session(session_id{a.id}));
  if (a.kind == alarm_kind::worker_start) return start(*find_worker(stream_id{a.id}));
  if (a.kind == alarm_kind::worker_return) return stop_waiting(*find_worker(stream_id{a.id}));
  if (a.kind == alarm_kind::value_age) return age_rang(session_id{a.id});
  if (a.kind == alarm_kind::gang) {
    gangs.all.at(a.id).impatient = true;  // what follows from it: start_gangs
    return;
  }
  slot const c = closures.find(closure_id{a.id});
  check(c != no_slot, "an alarm goes with its closure");
  auto& r = closures[c];
  if (a.kind == alarm_kind::closure_deadline) {
    r.details->deadline = never;  // it has rung
    r.timed_out = true;
    if (r.state == closure_state::running) return ask_to_stop(c);
    return expire(c);
  }
  auto& f = functions[r.owner->lanes[r.lane].function];
  --f.waiting;
  end_apart(c);
  r.delayed = false;
  r.details->ready_at = now;
  if (r.details->gang != 0) return wait_for_gang(c);
  ++f.queued;
  placement.push_back(*r.owner, c);
}

// Its deadline has passed and it does not run (any more).
void coordinator::state::expire(slot c) {
  auto const& r = closures[c];
  auto const limit =
      std::chrono::duration_cast<std::chrono::milliseconds>(r.details->extras->options.deadline);
  auto const where = r.state == closure_state::running   ? "while it ran"
                     : r.state == closure_state::blocked ? "while it waited for an input"
                     : r.delayed                         ? "before its start"
                                                         : "while it was queued";
  auto const worker = r.worker ? r.worker->task->name() : std::string();
  fail(c, closure_state::failed,
       {failure_kind::timeout, "",
        "its deadline of " + std::to_string(limit.count()) + " ms passed " + where, "", worker,
        r.attempt});
}

void coordinator::state::expire(session& s) {
  s.deadline = never;
  if (s.terminal() || s.stopping) return;
  auto const limit = std::chrono::duration_cast<std::chrono::milliseconds>(s.spec.deadline);
  s.first_error =
      core::failure{failure_kind::timeout,
                    "",
                    "the deadline of " + std::to_string(limit.count()) + " ms passed with " +
                        std::to_string(s.counts.queued + s.counts.blocked) +
                        " closures waiting and " + std::to_string(s.counts.running) + " running",
                    "",
                    "",
                    0};
  if (!s.spec.keep_values)
    fx.notices.push_back({s.id, notice_kind::failed, s.generation, *s.first_error});
  stop_session(s, "the deadline of " + text(s.id) + " passed");
}

std::string coordinator::state::unfit_inputs(closure_details const& d) const {
  if (!d.inputs) return {};
  std::size_t bytes = 0;
  for (std::size_t k = 0; k < d.inputs->size(); ++k) {
    bytes += (*d.inputs)[k].size();
    if ((*d.inputs)[k].encoding() == encoding::bytes)
      return "input " + text(d.input_ids[k]) +
             " is raw bytes, which cannot be part of JSON arguments";
  }
  if (bytes <= config.input_bytes_max) return {};
  return "the inputs have " + std::to_string(bytes) + " bytes, the limit is " +
         std::to_string(config.input_bytes_max);
}

std::string coordinator::state::ended_as_input(slot c) const {
  auto const& f = closures[c].details->failure;
  return f.kind == failure_kind::input
             ? f.message
             : "input " + text(closures.id_of(c)) + " failed: " + f.message;
}

void coordinator::state::tell_dependents() {
  while (!ended_inputs.empty()) {
    auto const ended = std::move(ended_inputs.front());
    ended_inputs.pop_front();
    for (auto const id : ended.dependents) {
      slot const c = closures.find(id);
      if (c == no_slot || closures[c].state != closure_state::blocked) continue;
      auto& r = closures[c];
      if (!ended.ok) {
        fail(c, closure_state::failed, {failure_kind::input, "", ended.why, "", "", 0});
        continue;
      }
      auto& d = *r.details;
      for (std::size_t k = 0; k < d.input_ids.size(); ++k) {
        if (d.input_ids[k] != ended.id) continue;
        (*d.inputs)[k] = ended.value;
        --d.inputs_missing;
      }
      if (d.inputs_missing > 0) continue;
      if (auto why = unfit_inputs(d); !why.empty()) {
        fail(c, closure_state::failed, {failure_kind::input, "", std::move(why), "", "", 0});
        continue;
      }
      auto& s = *r.owner;
      end_apart(c);
      --s.counts.blocked, ++s.counts.queued;
      --counts.blocked, ++counts.queued;
      --functions[s.lanes[r.lane].function].waiting;
      enqueue(c);
    }
  }
}

}  // namespace muster::core
