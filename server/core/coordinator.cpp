#include "server/core/coordinator.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "server/core/coordinator_state.hpp"

namespace muster::core {

coordinator::coordinator(config c, time_point start)
    : own_wide_(std::make_unique<server_wide>(start)),
      state_(std::make_unique<state>(std::move(c), start, *own_wide_)) {}
coordinator::coordinator(config c, time_point start, server_wide& wide)
    : state_(std::make_unique<state>(std::move(c), start, wide)) {}
coordinator::~coordinator() = default;

coordinator::state::state(core::config c, time_point start, server_wide& w)
    : engine_state(std::move(c), start, w) {
  ++wide.coordinators;
  rebuilders.capacity = step.config.closures_max;
  rebuilders.max_worker_failures = step.config.max_worker_failures;
  for (auto const* own : {&rebuilders, &builders}) {
    book.open(own->number, {}, false);
    values.open(own->number, false);
    scheduler.open(own->number, session_id{~std::uint64_t{0} - (own == &rebuilders)}, 1);
  }
}

void coordinator::state::begin(time_point t) {
  check(t >= step.now, "time must not go backwards");
  step.now = t;
  step.fx.clear();
  places.begin_step();
  programs.begin_step();
}

// Ends every step, in this order:
//   1  propagate outcomes until nothing changes: finished and lost inputs, broken gangs, queues
//      that no worker or version can serve
//   2  drain, finish or remove sessions that have no closures left
//   3  evict values and jobs beyond the limits, and closures that no other closure needs
//   4  place programs, then dispatch closures: builds, gangs, then in turn
//   5  update the watchdog, report changes of durable jobs as facts, set the next tick
effects const& coordinator::state::end() {
  do {
    while (!step.ended_inputs.empty() || scheduler.gangs.any_broken() || !step.to_check.empty() ||
           step.check_all || !step.failed_inputs.empty()) {
      life.notify_dependents();
      life.end_failed_inputs();
      life.cancel_broken_gangs();
      life.check_feasible();
    }
  } while (versions.refuse());
  for (auto const id : sessions.take_unsettled())
    if (auto* s = sessions.find(id)) {
      s->unsettled = false;
      ends.settle(*s);
    }
  admitting.tidy_rebuilders();
  if (ends.over_a_limit()) ends.keep_within_limits();
  if (!lineage.empty()) life.forget_unneeded_inputs();
  if (!step.stopping) {
    programs.place(step.now);
    dispatching.dispatch();
  }
  report_programs();
  auto const& n = book.counts();
  watchdog.observe(n.running > 0 || (book.for_workers() > 0 && !registry.empty()), step.now);
  step.fx.value_moves = values.take_moves();
  job_records.append_all();
  due = std::min({registry.tasks.next_sweep(), step.waiters.next_deadline(), step.alarms.next(),
                  watchdog.due(), scheduler.exclusives.due(), builds.due(), versions.due(),
                  programs.due()});
  return step.fx;
}

void coordinator::state::on_alarm(alarm<alarm_kind> const& a) {
  switch (a.kind) {
    case alarm_kind::start:
      return step.starts_due.push_back(closure_id{a.id});
    case alarm_kind::closure_deadline: {
      slot const c = closures.find(closure_id{a.id});
      check(c != no_slot, "a closure's alarm must be removed with the closure");
      return life.deadline_passed(c);
    }
    case alarm_kind::job_deadline:
      if (auto* s = sessions.find(session_id{a.id})) ends.expire_session(*s);
      return;
    case alarm_kind::session_lease:
      return ends.on_lease_expired(*sessions.find(session_id{a.id}));
    case alarm_kind::worker_return:
      return workers.stop_waiting(*registry.find(stream_id{a.id}));
    case alarm_kind::worker_start:
      return workers.start(*registry.find(stream_id{a.id}));
    case alarm_kind::gang:
      return scheduler.gangs.on_patience_over(a.id);  // the dispatcher starts the gang
    case alarm_kind::state_lost:
      return workers.state_lost(a.id);
    case alarm_kind::retract:
      return dispatching.retract();
    case alarm_kind::value_age:
      return ends.on_age_limit(session_id{a.id});
  }
}

void coordinator::state::expire_calls() {
  while (!step.waiters.empty() && step.waiters.next_deadline() <= step.now) {
    call_id const call = step.waiters.first();
    waiter w;
    step.waiters.remove(call, &w);
    if (w.session != session_id{}) {
      auto* s = sessions.find(w.session);
      std::erase(s->joins, call);
      step.answer(call, {code::deadline_exceeded, text(w.session) + " is still running"},
                  ends.joined(*s));
    } else {
      slot const c = closures.find(w.closure);
      bool const again = values.find_rebuilding(w.closure) != nullptr;
      bool const reading = c == no_slot || ended(closures[c].state());
      step.answer(call, {code::deadline_exceeded,
                         text(w.closure) + (again     ? " was lost and is being recomputed"
                                            : reading ? " is still being read from disk"
                                                      : " has not finished")});
    }
  }
}

time_point coordinator::next_deadline() const {
  return state_->due;
}

effects const& coordinator::step(time_point now, tick const&) {
  auto& st = *state_;
  st.begin(now);
  auto const behind = st.due == never || now < st.due ? duration{} : now - st.due;
  auto const stalled = behind > st.step.config.stall_grace ? behind : duration{};
  if (now >= st.registry.tasks.next_sweep() || stalled > duration{}) st.workers.sweep(stalled);
  while (st.step.alarms.next() <= now) st.on_alarm(st.step.alarms.pop());
  st.life.start_delays_elapsed();
  st.expire_calls();
  st.programs.tick(now);
  st.builds.build_what_is_due(now);
  if (st.scheduler.exclusives.due() <= now) st.dispatching.keep_a_worker_empty();
  if (st.watchdog.due() <= now && !st.step.stopping) st.dispatching.report_stall();
  return st.end();
}

effects const& coordinator::step(time_point now, core::stop const& e) {
  auto& st = *state_;
  st.begin(now);
  st.step.stopping = true;
  while (!st.step.waiters.empty()) {
    call_id const call = st.step.waiters.first();
    waiter w;
    st.step.waiters.remove(call, &w);
    if (auto* s = st.sessions.find(w.session)) std::erase(s->joins, call);
    st.step.answer(call, {code::unavailable, e.why});
  }
  return st.end();
}

effects const& coordinator::step(time_point now, learn_functions const& e) {
  auto& st = *state_;
  st.begin(now);
  functions_reply learned;
  status wrong;
  for (auto const& name : e.names) {
    auto const id = st.book.functions.intern(name);
    if (!id) {
      wrong = id.error();
      break;
    }
    learned.ids.push_back(*id);
  }
  st.step.answer(e.call, std::move(wrong), std::move(learned));
  return st.end();
}

effects const& coordinator::step(time_point now, call_abandoned const& e) {
  auto& st = *state_;
  st.begin(now);
  waiter w;
  if (st.step.waiters.remove(e.call, &w))
    if (auto* s = st.sessions.find(w.session)) std::erase(s->joins, e.call);
  return st.end();
}

effects const& coordinator::step(time_point now, event& e) {
  return std::visit([&](auto& alternative) -> effects const& { return step(now, alternative); }, e);
}

bool coordinator::has_room(session_id id) const {
  auto* s = state_->sessions.find(id);
  return s && !s->full;
}

closure_id coordinator::closure_of(session_id id, std::uint64_t token) const {
  auto const* s = state_->sessions.find(id);
  if (!s) return {};
  auto const it = s->by_token.find(token);
  return it == s->by_token.end() ? closure_id{} : it->second;
}

session_id coordinator::session_of(closure_id id) const {
  slot const c = state_->closures.find(id);
  return c == no_slot ? session_id{} : state_->sessions.of(state_->closures[c].owner).id;
}

bool coordinator::has(session_id id) const {
  return state_->sessions.find(id) != nullptr;
}

std::optional<held_place> coordinator::held(stream_id stream, closure_id closure,
                                            std::uint32_t attempt) const {
  auto const& st = *state_;
  slot const c = st.closures.find(closure);
  if (c == no_slot) return {};
  auto const& r = st.closures[c];
  if (r.worker == worker_number{} || st.registry.of(r.worker).stream != stream ||
      r.attempt != attempt)
    return {};
  auto const& s = st.sessions.of(r.owner);
  if (s.id == session_id{}) return {};  // the session is internal to the core
  return held_place{s.id, r.order, r.stop_requested};
}

bool coordinator::is_durable(session_id id) const {
  auto const* s = state_->sessions.find(id);
  return s && s->durable;
}

bool coordinator::knows(any_id id) const {
  struct {
    state const& st;
    bool operator()(session_id s) const { return st.sessions.find(s) || st.sessions.note_of(s); }
    bool operator()(closure_id c) const { return st.closures.owns_slot(closure_table::slot_of(c)); }
    bool operator()(per_worker_id v) const { return st.builds.find(v) != nullptr; }
    bool operator()(program_id p) const { return st.programs.knows(p); }
  } const known{*state_};
  return std::visit(known, id);
}

coordinator::shutdown_report coordinator::forget_all() const {
  return {state_->values.forget_all(), state_->job_records.forget_all()};
}

session_queries const& coordinator::sessions() const {
  return state_->ask.sessions;
}

closure_queries const& coordinator::closures() const {
  return state_->ask.closures;
}

worker_queries const& coordinator::workers() const {
  return state_->ask.workers;
}

value_queries const& coordinator::values() const {
  return state_->ask.values;
}

per_worker_queries const& coordinator::per_worker() const {
  return state_->ask.per_worker;
}

function_queries const& coordinator::functions() const {
  return state_->ask.functions;
}

queue_queries const& coordinator::queue() const {
  return state_->ask.queue;
}

config const& coordinator::configuration() const {
  return state_->step.config;
}

effects const& coordinator::step(time_point now, worker_attached& e) {
  return state_->perform(now, [&] {
    auto const came = state_->workers.attach(e);
    if (!came.now) return;
    state_->answers.earlier(came, e.answers);
    state_->workers.go_on(came, e.held);
  });
}
effects const& coordinator::step(time_point now, worker_results& e) {
  return state_->perform(now, [&] { state_->answers.results(e); });
}
effects const& coordinator::step(time_point now, values_moved& e) {
  return state_->perform(now, [&] { state_->admitting.moved(e); });
}
effects const& coordinator::step(time_point now, open_session& e) {
  return state_->perform(now, [&] {
    state_->take_callables(e.closures, e.callables);
    state_->requests.open(e);
  });
}
effects const& coordinator::step(time_point now, core::schedule& e) {
  return state_->perform(now, [&] {
    state_->take_callables(e.closures, e.callables);
    state_->requests.append(e);
  });
}
effects const& coordinator::step(time_point now, seal_session const& e) {
  return state_->perform(now, [&] { state_->requests.seal(e); });
}
effects const& coordinator::step(time_point now, cancel_session const& e) {
  return state_->perform(now, [&] { state_->requests.cancel_all(e); });
}
effects const& coordinator::step(time_point now, close_session const& e) {
  return state_->perform(now, [&] { state_->requests.close(e); });
}
effects const& coordinator::step(time_point now, suspend_session const& e) {
  return state_->perform(now, [&] { state_->resumable.suspend(e); });
}
effects const& coordinator::step(time_point now, resume_session const& e) {
  return state_->perform(now, [&] { state_->resumable.resume(e); });
}
effects const& coordinator::step(time_point now, release_values const& e) {
  return state_->perform(now, [&] { state_->resumable.release_held(e); });
}
effects const& coordinator::step(time_point now, delete_session const& e) {
  return state_->perform(now, [&] { state_->requests.delete_job(e); });
}
effects const& coordinator::step(time_point now, restore_jobs& e) {
  return state_->perform(now, [&] {
    auto& st = *state_;
    if (!e.jobs.empty()) st.versions.trust_until(now + st.step.config.reconnect_grace);
    st.restarting.restore(e.jobs);
  });
}
effects const& coordinator::step(time_point now, retry_job& e) {
  return state_->perform(now, [&] { state_->requests.retry(e); });
}
effects const& coordinator::step(time_point now, create_per_worker& e) {
  return state_->perform(now, [&] { state_->building.create_value(e); });
}
effects const& coordinator::step(time_point now, delete_per_worker const& e) {
  return state_->perform(now, [&] { state_->building.delete_value(e); });
}
effects const& coordinator::step(time_point now, cancel_closure const& e) {
  return state_->perform(now, [&] { state_->requests.cancel_one(e); });
}
effects const& coordinator::step(time_point now, join_session const& e) {
  return state_->perform(now, [&] { state_->calls.join(e); });
}
effects const& coordinator::step(time_point now, await_value const& e) {
  return state_->perform(now, [&] { state_->calls.await(e); });
}

effects const& coordinator::step(time_point now, worker_alive const& e) {
  return state_->perform(now, [&] { state_->workers.alive(e); });
}
effects const& coordinator::step(time_point now, worker_disconnected const& e) {
  return state_->perform(now, [&] { state_->workers.disconnected(e); });
}
effects const& coordinator::step(time_point now, worker_drain const& e) {
  return state_->perform(now, [&] { state_->workers.drain(e); });
}
effects const& coordinator::step(time_point now, drain_task const& e) {
  return state_->perform(now, [&] { state_->workers.drain_by_name(e); });
}
effects const& coordinator::step(time_point now, cordon_task const& e) {
  return state_->perform(now, [&] { state_->workers.cordon(e); });
}
}  // namespace muster::core
