// Restores all records before it resumes work, because an input can belong to any job.
#include "server/core/durable/job_restart.hpp"

#include <algorithm>
#include <utility>

#include "server/core/texts/reason_texts.hpp"

namespace muster::core {
namespace {

void limit_times(time_point now, restored_job& j) {
  limit_to(now, j.job.created, j.job.finished);
  for (auto& v : j.per_worker) limit_to(now, v.created);
  for (auto& a : j.accepted) limit_to(now, a.created);
  for (auto& c : j.closures) {
    limit_to(now, c.started, c.finished);
    for (auto& a : c.lost) limit_to(now, a.started, a.ended);
    if (c.newest) limit_to(now, c.newest->started, c.newest->ended);
  }
}

}  // namespace

void job_restart::restore(std::vector<restored_job>& jobs) {
  // Finished jobs are restored in the order in which they will be removed.
  auto const turn = [](restored_job const& j) {
    return std::pair(j.job.state == job_state::running ? never : j.job.finished, raw(j.job.id));
  };
  std::sort(jobs.begin(), jobs.end(),
            [&](auto const& a, auto const& b) { return turn(a) < turn(b); });
  for (auto& j : jobs) limit_times(core_.step.now, j);
  std::vector<request> waiting;
  std::vector<session*> opened;
  core_.book.restoring(true);
  for (auto& j : jobs)
    if (j.job.id == session_id{}) restore_values(nullptr, j.per_worker);
  for (auto& j : jobs) {
    if (j.job.id == session_id{}) continue;
    opened.push_back(&open(j.job));
    restore_values(opened.back(), j.per_worker);
    restore_closures(*opened.back(), j, waiting);
  }
  core_.book.restoring(false);
  core_.closures.end_of_claims();
  for (auto const* s : opened) restore_dependents(*s);
  for (auto& r : waiting) admission_.resume(*r.of, r.specs, r.closures);
  release_values();
  for (auto* s : opened) go_on(*s);
  for (auto const& [name, place] : std::exchange(known_places_, {})) core_.places.release(place);
}

session& job_restart::open(job_fact& f) {
  session fresh;
  static_cast<job_fact&>(fresh) = std::move(f);
  fresh.durable = true;
  fresh.take(std::move(fresh.spec), core_.step.config);
  auto& s = core_.sessions.restore(std::move(fresh));
  core_.book.open(s.number, s.id, s.traits().listed);
  core_.values.open(s.number, s.traits().resumable);
  core_.scheduler.open(s.number, s.id, s.spec.weight);
  return s;
}

// A worker that reconnects with a built value keeps it; other workers build the value again.
void job_restart::restore_values(session* owner, std::vector<per_worker_fact>& values) {
  for (auto& f : values) {
    auto const function = core_.book.functions.intern(f.function);
    if (!function) continue;  // if the table is full, closures that need the value fail
    per_worker_entry v;
    v.id = f.id;
    v.name = std::move(f.name);
    v.function = *function;
    v.args = std::move(f.args);
    v.owner = owner ? owner->id : session_id{};
    v.token = f.token;
    v.submitted_by = std::move(f.submitted_by);
    v.created = f.created;
    v.released = f.released;
    core_.builds.restore(std::move(v));
    if (owner) owner->owns_per_worker = true;
  }
}

void job_restart::release_values() {
  std::vector<per_worker_id> unused;
  for (auto const& [id, v] : core_.builds.all())
    if (v.released && v.users == 0) unused.push_back(id);
  for (auto const id : unused) life_.release(*core_.builds.find(id));
}

std::vector<function_id> job_restart::functions_of(accepted_fact const& f) {
  std::vector<function_id> ids;
  for (std::size_t i = 0; i < f.functions.size(); ++i) {
    auto const known = core_.book.functions.intern(f.functions[i]);
    ids.push_back(known ? *known : function_id{});
    if (!known || i >= f.callables.size() || f.callables[i].name.empty()) continue;
    if (auto const called = core_.book.functions.intern(*known, f.callables[i])) ids[i] = *called;
  }
  return ids;
}

void job_restart::restore_closures(session& s, restored_job& j, std::vector<request>& waiting) {
  std::sort(j.closures.begin(), j.closures.end(),
            [](auto const& a, auto const& b) { return a.order < b.order; });
  // Sorts the requests by time, because positions in a session can restart at 0.
  std::sort(j.accepted.begin(), j.accepted.end(), [](auto const& a, auto const& b) {
    return std::pair(a.created, a.first) < std::pair(b.created, b.first);
  });
  auto known = j.closures.begin();
  auto const told_of = [&](std::uint32_t order) -> closure_fact* {
    if (known == j.closures.end() || known->order != order)
      known = std::lower_bound(j.closures.begin(), j.closures.end(), order,
                               [](auto const& f, std::uint32_t at) { return f.order < at; });
    if (known == j.closures.end() || known->order != order) return nullptr;
    return &*known++;
  };
  for (auto& accepted : j.accepted) {
    auto const functions = functions_of(accepted);
    request left{&s, {}, {}};
    std::uint32_t forgotten = 0;
    for (std::uint32_t i = 0; i < accepted.closures.size(); ++i) {
      auto& a = accepted.closures[i];
      if (a.forgotten) {
        ++forgotten;
        continue;
      }
      closure_spec spec;
      core_.book.functions.name(functions[a.function], spec);
      spec.args = std::move(a.args);
      spec.token = a.token;
      spec.own_error = a.own_error;
      slot const c = core_.closures.claim(a.id, s.number);
      core_.book.continue_at(s.number, accepted.first + i);
      core_.book.create_in(c, s.number, spec, 0, accepted.created);
      auto* const told = told_of(accepted.first + i);
      if (a.extras) {
        auto& d = core_.closures[c].with_details();
        d.extras = a.extras;
        for (auto const& input : a.extras->inputs) d.input_ids.push_back(input.closure);
      }
      if (told) restore_attempts(c, *told);
      if (told && ended(told->state)) {
        end(c, *told);
      } else {
        if (a.extras)
          core_.closures[c].details->extras = nullptr, core_.closures[c].details->input_ids.clear();
        if (told) core_.book.report_move(c, move_reason::ready);
        spec.extras = std::move(a.extras);
        left.specs.push_back(std::move(spec));
        left.closures.push_back(c);
      }
      if (s.traits().resumable) restore_held(s, c);
    }
    core_.book.continue_at(s.number,
                           accepted.first + static_cast<std::uint32_t>(accepted.closures.size()));
    if (s.traits().resumable)
      s.requests.add({accepted.first, static_cast<std::uint32_t>(accepted.closures.size())},
                     forgotten);
    if (!left.closures.empty()) waiting.push_back(std::move(left));
  }
}

// A client reuses a token only after it has released the previous closure, so the token belongs to
// the newest closure.
void job_restart::restore_held(session& s, slot c) {
  auto const& r = core_.closures[c];
  if (r.token != 0) {
    auto const [it, fresh] = s.by_token.try_emplace(r.token, core_.closures.id_of(c));
    if (!fresh) {
      slot const before = core_.closures.find(it->second);
      core_.closures[before].token = 0;
      core_.closures[before].released = true;
      it->second = core_.closures.id_of(c);
      if (ended(core_.closures[before].state())) life_.forget_held(before);
    }
  }
  if (ended(r.state())) core_.closures.push_back(s.held, c);
}

// Restores the dependents of finished inputs, for display only.
void job_restart::restore_dependents(session const& s) {
  for (slot const c : flow_.of(s).closures) {  // filled only for jobs
    auto const* d = core_.closures[c].details.get();
    if (!d || !d->extras) continue;
    auto const id = core_.closures.id_of(c);
    for (auto const& ref : d->extras->inputs) {
      slot const input = core_.closures.find(ref.closure);
      if (input == no_slot || !ended(core_.closures[input].state()) ||
          core_.closures[input].finished <= core_.closures[c].created)
        continue;
      auto& waited = core_.closures[input].with_details().dependents;
      if (waited.empty() || waited.back() != id) waited.push_back(id);
    }
  }
}

std::uint32_t job_restart::place_of(attempt_view const& a) {
  auto const [it, fresh] = known_places_.try_emplace({a.worker, a.incarnation});
  if (fresh) it->second = core_.places.add(a.worker, a.incarnation, a.host);
  core_.places.hold(it->second);
  return it->second;
}

void job_restart::restore_attempts(slot c, closure_fact& f) {
  auto& r = core_.closures[c];
  r.attempt = f.attempt;
  r.worker_failures = static_cast<std::uint8_t>(std::min(f.worker_failures, worker_failures_max));
  r.started = f.started;
  r.released = f.released;
  bool const ran = f.state == closure_state::running;
  if (f.newest && !ran)
    r.place = place_of(*f.newest);
  else
    r.attempt = f.lost.empty() ? 0 : f.lost.back().attempt;  // only recorded attempts count
  if (auto& s = core_.sessions.of(r.owner); (ran || r.attempt > 0) && !s.started && !s.terminal())
    core_.sessions.note_start(s, true);
  if (ran) {
    r.restored = true;
    r.with_details().start_at = core_.step.now + core_.step.config.reconnect_grace;
  }
  if (f.lost.empty() && f.retries == 0 && f.workers_lost == 0 && !f.exclusive) return;
  auto& d = r.with_details();
  d.retries = f.retries;
  d.workers_lost = f.workers_lost;
  d.processes_ended = f.processes_ended;
  for (auto& a : f.lost)
    d.lost.push_back({a.attempt, place_of(a), a.started, a.ended, std::move(a.outcome), a.blamed});
  if (ended(f.state)) return;
  if (f.exclusive || f.workers_lost >= exclusive_after) life_.run_alone(c);
  if (ran || d.lost.empty()) return;
  auto const& last = d.lost.back();
  if (r.is_blamed_for_last_loss())
    d.start_at = last.ended + life_.pause_after_loss(d.workers_lost);
  else if (last.outcome.how == attempt_end::user_error && d.retries > 0 && d.extras)
    d.start_at = last.ended + lifecycle::pause_before_retry(d.extras->options, d.retries,
                                                            raw(core_.closures.id_of(c)));
}

void job_restart::end(slot c, closure_fact& f) {
  auto& r = core_.closures[c];
  r.value = std::move(f.value);
  if (f.state != closure_state::succeeded) r.with_details();
  if (f.failure) r.with_details().failure = std::move(*f.failure);
  core_.book.finish(c, f.state, f.finished);
  auto& s = core_.sessions.of(r.owner);
  if (core_.values.may_be_lost(r))
    core_.values.keep_arguments(c);
  else if (s.traits().listed && f.state != closure_state::succeeded)
    core_.values.keep_for_retry(c);
  else
    r.args = {};
  keeping_.keep_value(c);
  if (f.dropped) core_.values.drop(c, *f.dropped, f.finished, true);
}

void job_restart::go_on(session& s) {
  if (s.terminal()) {
    core_.scheduler.end_turns(s.number);
    return flow_.set_age_alarm(s, s.finished);
  }
  if (s.spec.deadline > duration{}) {
    s.deadline = s.created + s.spec.deadline;
    core_.step.alarms.set(s.deadline, alarm_kind::job_deadline, raw(s.id));
  }
  if (s.traits().resumable) flow_.renew_lease(s, core_.step.now);
  bool const failed = !s.closed && s.first_error;
  if (s.stopping && failed) s.stopped_because = cancelled_because_of(s.id, *s.first_error);
  if (std::exchange(s.stopping, false))
    life_.stop_session(s,
                       s.closed ? std::string("the client has disconnected")
                       : failed ? s.stopped_because
                                : "cancelled",
                       failed ? lifecycle::stops::but_own_errors : lifecycle::stops::all);
  flow_.settle_later(s);
}

}  // namespace muster::core
