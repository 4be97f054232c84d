#include "server/core/coordinator.hpp"

#include <algorithm>
#include <cstdio>

#include "base/check.hpp"
#include "server/core/coordinator_state.hpp"

namespace muster::core {

namespace {
std::string hex_id(char const* prefix, std::uint64_t value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%s%016llx", prefix, static_cast<unsigned long long>(value));
  return buffer;
}
}  // namespace

std::string text(session_id id) {
  return hex_id("job_", raw(id));
}
std::string text(closure_id id) {
  return hex_id("cl_", raw(id));
}
std::string text(per_worker_id id) {
  return hex_id("pw_", raw(id));
}

coordinator::coordinator(config c, time_point start) : state_(std::make_unique<state>(c, start)) {}
coordinator::~coordinator() = default;

void coordinator::state::begin(time_point t) {
  check(t >= now, "time does not go backwards");
  now = t;
  fx.clear();
}

effects const& coordinator::state::end() {
  while (!ended_inputs.empty() || !gangs.broken.empty() || !to_judge.empty() ||
         !ledger.doomed.empty()) {
    tell_dependents();
    fail_doomed();
    tell_gangs();
    judge();
  }
  for (auto const id : unsettled)
    if (auto* s = find_session(id)) {
      s->unsettled = false;
      settle(*s);
    }
  unsettled.clear();
  tidy_rebuilders();
  if (over_a_limit()) keep_within_limits();
  if (!stopping) dispatch();
  watch();
  due = std::min({registry.next_sweep(), waiters.next_deadline(), alarms.next(), watch_due});
  return fx;
}

// Hands out closures until nothing fits any more. Consecutive turns for one worker become one
// dispatch.
void coordinator::state::dispatch() {
  if (!builders_waiting.empty()) send_builds();
  if (!gangs.waiting.empty()) start_gangs();
  while (worker* w = placement.next(run)) {
    auto const first = static_cast<std::uint32_t>(fx.assignments.size());
    for (slot const c : run) assign(*w, c);
    placement.update(*w);
    auto const count = static_cast<std::uint32_t>(run.size());
    if (!fx.dispatches.empty() && fx.dispatches.back().stream == w->stream) {
      fx.dispatches.back().count += count;
    } else {
      fx.dispatches.push_back({w->stream, first, count});
    }
  }
}

void coordinator::state::answer(call_id call, status s, decltype(reply::body) body) {
  if (call == call_id{}) return;
  fx.replies.push_back({call, std::move(s), std::move(body)});
}

bool coordinator::state::refuse_when_stopping(call_id call) {
  if (stopping) answer(call, {code::unavailable, "the server is shutting down"});
  return stopping;
}

void coordinator::state::expire_calls() {
  while (!waiters.empty() && waiters.next_deadline() <= now) {
    call_id const call = waiters.first();
    waiter w;
    waiters.remove(call, &w);
    if (w.session != session_id{}) {
      auto* s = find_session(w.session);
      std::erase(s->joins, call);
      answer(call, {code::deadline_exceeded, text(w.session) + " is still running"}, joined(*s));
    } else {
      slot const c = closures.find(w.closure);
      bool const again = ledger.rebuilds.contains(w.closure);
      bool const reading = c == no_slot || ended(closures[c].state);
      answer(call, {code::deadline_exceeded,
                    text(w.closure) + (again     ? " was lost and runs again"
                                       : reading ? " is still read back from the disk"
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
  // A tick far behind its time means that we, not the workers, stood still.
  auto const behind = st.due == never || now < st.due ? duration{} : now - st.due;
  auto const stalled = behind > st.config.stall_grace ? behind : duration{};
  if (now >= st.registry.next_sweep() || stalled > duration{}) st.sweep(stalled);
  while (st.alarms.next() <= now) st.ring(st.alarms.pop());
  st.expire_calls();
  if (st.watch_due <= now && !st.stopping) st.bark();
  return st.end();
}

effects const& coordinator::step(time_point now, core::stop const&) {
  auto& st = *state_;
  st.begin(now);
  st.stopping = true;
  while (!st.waiters.empty()) {
    call_id const call = st.waiters.first();
    waiter w;
    st.waiters.remove(call, &w);
    if (auto* s = st.find_session(w.session)) std::erase(s->joins, call);
    st.answer(call, {code::unavailable, "the server is shutting down"});
  }
  return st.end();
}

effects const& coordinator::step(time_point now, learn_functions const& e) {
  auto& st = *state_;
  st.begin(now);
  functions_reply learned;
  status wrong;
  for (auto const& name : e.names) {
    auto const id = st.functions.intern(name);
    if (!id) {
      wrong = id.error();
      break;
    }
    learned.ids.push_back(*id);
  }
  st.answer(e.call, std::move(wrong), std::move(learned));
  return st.end();
}

effects const& coordinator::step(time_point now, call_gone const& e) {
  auto& st = *state_;
  st.begin(now);
  waiter w;
  if (st.waiters.remove(e.call, &w))
    if (auto* s = st.find_session(w.session)) std::erase(s->joins, e.call);
  return st.end();
}

effects const& coordinator::step(time_point now, event& e) {
  return std::visit([&](auto& alternative) -> effects const& { return step(now, alternative); }, e);
}

std::string_view coordinator::function_name(function_id f) const {
  return state_->functions[f].name;
}

std::uint32_t coordinator::connected_workers() const {
  return static_cast<std::uint32_t>(state_->workers.size());
}

bool coordinator::has_room(session_id id) const {
  auto* s = state_->find_session(id);
  return s && !s->full;
}

closure_id coordinator::closure_of(session_id id, std::uint64_t token) const {
  auto const* s = state_->find_session(id);
  if (!s) return {};
  auto const it = s->by_token.find(token);
  return it == s->by_token.end() ? closure_id{} : it->second;
}

config const& coordinator::configuration() const {
  return state_->config;
}

template <class Move>
effects const& coordinator::state::perform(time_point t, Move move) {
  begin(t);
  move();
  return end();
}

effects const& coordinator::step(time_point now, worker_attached& e) {
  return state_->perform(now, [&] { state_->attach(e); });
}
effects const& coordinator::step(time_point now, worker_results& e) {
  return state_->perform(now, [&] { state_->results(e); });
}
effects const& coordinator::step(time_point now, values_moved& e) {
  return state_->perform(now, [&] { state_->moved(e); });
}
effects const& coordinator::step(time_point now, open_session& e) {
  return state_->perform(now, [&] { state_->open(e); });
}
effects const& coordinator::step(time_point now, core::schedule& e) {
  return state_->perform(now, [&] { state_->append(e); });
}
effects const& coordinator::step(time_point now, seal_session const& e) {
  return state_->perform(now, [&] { state_->seal(e); });
}
effects const& coordinator::step(time_point now, cancel_session const& e) {
  return state_->perform(now, [&] { state_->cancel(e); });
}
effects const& coordinator::step(time_point now, close_session const& e) {
  return state_->perform(now, [&] { state_->close(e); });
}
effects const& coordinator::step(time_point now, suspend_session const& e) {
  return state_->perform(now, [&] { state_->suspend(e); });
}
effects const& coordinator::step(time_point now, resume_session const& e) {
  return state_->perform(now, [&] { state_->resume(e); });
}
effects const& coordinator::step(time_point now, release_values const& e) {
  return state_->perform(now, [&] { state_->release(e); });
}
effects const& coordinator::step(time_point now, delete_session const& e) {
  return state_->perform(now, [&] { state_->erase(e); });
}
effects const& coordinator::step(time_point now, create_per_worker& e) {
  return state_->perform(now, [&] { state_->create(e); });
}
effects const& coordinator::step(time_point now, delete_per_worker const& e) {
  return state_->perform(now, [&] { state_->erase(e); });
}
effects const& coordinator::step(time_point now, cancel_closure const& e) {
  return state_->perform(now, [&] { state_->cancel(e); });
}
effects const& coordinator::step(time_point now, join_session const& e) {
  return state_->perform(now, [&] { state_->join(e); });
}
effects const& coordinator::step(time_point now, await_value const& e) {
  return state_->perform(now, [&] { state_->await(e); });
}

}  // namespace muster::core
