// All records first, so that an input may be of any job; then what is still to be done.
#include "server/core/durable/job_restart.hpp"

#include <algorithm>
#include <utility>

namespace muster::core {

void job_restart::restore(std::vector<restored_job>& jobs) {
  // Those that have ended in the order in which they did, which is the order in which they go.
  std::stable_sort(jobs.begin(), jobs.end(), [](auto const& a, auto const& b) {
    auto const when = [](restored_job const& j) {
      return j.job.state == job_state::running ? never : j.job.finished;
    };
    return when(a) < when(b);
  });
  std::vector<request> waiting;
  std::vector<session*> opened;
  for (auto& j : jobs) {
    opened.push_back(&open(j.job));
    restore_closures(*opened.back(), j, waiting);
  }
  closures_.end_of_claims();
  for (auto const* s : opened) tell_inputs(*s);
  for (auto& r : waiting) intake_.resume(*r.of, r.specs, r.closures);
  for (auto* s : opened) go_on(*s);
  for (auto const& [name, place] : std::exchange(known_places_, {})) places_.release(place);
}

session& job_restart::open(job_fact& f) {
  session fresh;
  fresh.id = f.job;
  fresh.durable = true;
  fresh.capacity = f.spec.queue_capacity == 0 ? step_.config.queue_capacity : f.spec.queue_capacity;
  fresh.max_worker_failures = f.spec.unlimited_worker_failures ? 0
                              : f.spec.max_worker_failures     ? f.spec.max_worker_failures
                                                               : step_.config.max_worker_failures;
  fresh.spec = std::move(f.spec);
  fresh.state = f.state;
  fresh.sealed = f.sealed;
  fresh.stopping = f.stopping;
  fresh.user_cancelled = f.user_cancelled;
  fresh.first_error = std::move(f.error);
  fresh.created = f.created;
  fresh.finished = f.finished;
  auto& s = sessions_.restore(std::move(fresh));
  book_.open(s.number, true);
  values_.open(s.number, false);
  scheduler_.open(s.number, s.id, s.spec.weight);
  return s;
}

void job_restart::restore_closures(session& s, restored_job& j, std::vector<request>& waiting) {
  auto known = j.closures.begin();
  for (auto& accepted : j.accepted) {
    std::vector<function_id> functions;
    for (auto const& name : accepted.functions) {
      auto const id = book_.functions.intern(name);
      functions.push_back(id ? *id : function_id{});
    }
    request left{&s, {}, {}};
    for (auto& a : accepted.closures) {
      closure_spec spec;
      spec.function = functions[a.function];
      spec.args = std::move(a.args);
      slot const c = closures_.claim(a.id, s.number);
      book_.create_in(c, s.number, spec, 0, accepted.created);
      auto const order = closures_[c].order;
      closures_[c].restored = true;
      bool const told = known != j.closures.end() && known->order == order;
      if (a.extras) {
        auto& d = closures_[c].with_details();
        d.extras = a.extras;
        for (auto const& input : a.extras->inputs) d.input_ids.push_back(input.closure);
      }
      if (told) restore_past(c, *known);
      if (told && ended(known->state)) {
        end(c, *known);
      } else {  // intake gives it what it asks for, and finds its inputs again
        if (a.extras)
          closures_[c].details->extras = nullptr, closures_[c].details->input_ids.clear();
        spec.extras = std::move(a.extras);
        left.specs.push_back(std::move(spec));
        left.closures.push_back(c);
      }
      if (told) ++known;
    }
    if (!left.closures.empty()) waiting.push_back(std::move(left));
  }
}

// For readers: who waited for those that have ended.
void job_restart::tell_inputs(session const& s) {
  for (slot const c : flow_.of(s).closures) {
    auto const* d = closures_[c].details.get();
    if (!d || !d->extras) continue;
    auto const id = closures_.id_of(c);
    for (auto const& ref : d->extras->inputs) {
      slot const input = closures_.find(ref.closure);
      if (input == no_slot || !ended(closures_[input].state) ||
          closures_[input].finished <= closures_[c].created)
        continue;
      auto& waited = closures_[input].with_details().dependents;
      if (waited.empty() || waited.back() != id) waited.push_back(id);
    }
  }
}

std::uint32_t job_restart::place_of(attempt_fact const& a) {
  auto const [it, fresh] = known_places_.try_emplace({a.worker, a.incarnation});
  if (fresh) it->second = places_.add(a.worker, a.incarnation, a.host);
  places_.hold(it->second);
  return it->second;
}

void job_restart::restore_past(slot c, closure_fact& f) {
  auto& r = closures_[c];
  r.attempt = f.attempt;
  r.worker_failures = static_cast<std::uint8_t>(std::min(f.worker_failures, worker_failures_max));
  r.started = f.started;
  bool const ran = f.state == closure_state::running;
  if (f.newest && !ran)
    r.place = place_of(*f.newest);
  else
    r.attempt = f.lost.empty() ? 0 : f.lost.back().attempt;  // there is none that is not told of
  // Its worker may come back with it.
  if (ran) r.with_details().start_at = step_.now + step_.config.reconnect_grace;
  if (f.lost.empty() && f.retries == 0 && f.workers_lost == 0) return;
  auto& d = r.with_details();
  d.retries = f.retries;
  d.workers_lost = f.workers_lost;
  for (auto& a : f.lost)
    d.lost.push_back({a.attempt, place_of(a), a.started, a.ended, std::move(a.outcome)});
}

void job_restart::end(slot c, closure_fact& f) {
  auto& r = closures_[c];
  r.value = std::move(f.value);
  if (f.failure) r.with_details().failure = std::move(*f.failure);
  book_.finish(c, f.state, f.finished);
  step_.metrics.total.add(f.finished - r.created);
  if (values_.may_be_lost(r))
    values_.keep_arguments(c);
  else if (f.state != closure_state::succeeded)
    values_.keep_for_retry(c);
  else
    r.args = {};
  keeping_.keep_value(c);
  if (f.dropped) values_.drop(c, *f.dropped, f.finished);
}

void job_restart::go_on(session& s) {
  if (s.terminal()) {
    scheduler_.end_turns(s.number);
    return flow_.set_age_alarm(s, s.finished);
  }
  if (s.spec.deadline > duration{}) {
    s.deadline = s.created + s.spec.deadline;
    step_.alarms.set(s.deadline, alarm_kind::job_deadline, raw(s.id));
  }
  if (std::exchange(s.stopping, false))
    life_.stop_session(
        s, s.first_error ? "an earlier closure of " + text(s.id) + " failed" : "cancelled");
  flow_.settle_later(s);
}

}  // namespace muster::core
