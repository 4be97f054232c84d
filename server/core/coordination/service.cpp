#include "server/core/coordination/service.hpp"

#include <algorithm>

namespace muster::core::coordination {
namespace {

constexpr auto shutting_down = "The coordination service is shutting down.";

}  // namespace

service::service(cluster_spec const& spec, limits const& l, generation g, change_log log)
    : step_(spec, l, g, log),
      registry_(spec, log),
      closed_(spec.size()),
      barriers_(spec.size(), spec.stuck_after, step_.limits, log),
      store_(step_.limits, log),
      wording_(step_.spec, registry_),
      record_(step_, registry_, barriers_),
      queries_(step_, registry_),
      notices_(step_, registry_, store_, wording_),
      keys_(step_, registry_, store_, notices_),
      polls_(step_, registry_, closed_, record_),
      members_(registry_, closed_, queries_, notices_, polls_, record_),
      faults_(step_, registry_, barriers_, wording_, record_),
      callers_(step_, registry_, barriers_, faults_, record_),
      propagation_(step_, members_, queries_, polls_, record_, callers_),
      detector_(step_, registry_, closed_, wording_, record_, propagation_),
      barrier_service_(step_, registry_, barriers_, faults_, callers_, propagation_),
      registration_(step_, registry_, record_, members_, propagation_, barrier_service_),
      shutdown_(step_, registry_, barriers_, propagation_, barrier_service_) {}

void service::begin(time_point now, effects& fx) {
  step_.begin(now, fx);
  version_before_ = registry_.version();
}

void service::note_changes() {
  if (registry_.version() != version_before_) queries_.note_change();
}

void service::perform(time_point now, request& r, effects& fx) {
  begin(now, fx);
  if (step_.stopped) return refuse_stopped(r);
  auto const route = [this](auto& q) {
    if constexpr (!std::is_same_v<std::decay_t<decltype(q)>, register_task>) {
      if (refused(q.from)) return;
      note_sign_of_life(q);
      if (refused_after_failure(q)) return;
    }
    if constexpr (requires { q.visits&& q.key.empty(); })
      if (refused_as_failed(q.from, q.visits)) return;
    on(q);
  };
  std::visit(route, r);
  note_changes();
}

// Identifies the caller by the task or process in the call, because tasks can share a connection. A
// call from an earlier process does not count for the process that replaced it.
template <class Request>
void service::note_sign_of_life(Request const& r) {
  auto process = r.from.process;
  if constexpr (std::is_same_v<Request, heartbeat>) process = r.incarnation;
  auto t = no_task;
  if constexpr (requires { r.task; })
    t = r.task.index;
  else
    t = registry_.find(process, {});
  if (t == no_task) return;
  bool const other = process != core::incarnation{} && process != registry_[t].incarnation;
  detector_.heard(t, other);
}

void service::on(shutdown_task& r) {
  if (r.task.index != no_task) notices_.forget(r.task.index);
  shutdown_.on(r);
}

// XLA's agents send the expected service in every call except the registration.
bool service::refused(caller const& from) {
  if (!from.service || *from.service == incarnation()) return false;
  step_.answer(from.call,
               std::make_shared<fault const>(wrong_service(*from.service, incarnation())));
  return true;
}

// After a failure, tasks may still register, send heartbeats, receive errors, leave and read
// states.
template <class Request>
bool service::refused_after_failure(Request const& r) {
  using type = std::decay_t<Request>;
  constexpr bool goes_on =
      std::is_same_v<type, register_task> || std::is_same_v<type, heartbeat> ||
      std::is_same_v<type, shutdown_task> || std::is_same_v<type, reset_task> ||
      std::is_same_v<type, poll_for_error> || std::is_same_v<type, get_task_state> ||
      std::is_same_v<type, watch_tasks>;
  if (goes_on || !record_.refuses()) return false;
  step_.answer(r.from.call, record_.failures().broadcast());
  return true;
}

bool service::refused_as_failed(caller const& from, bool visits) {
  auto const& failures = record_.failures();
  if (!visits || !failures.failed()) return false;
  step_.refuse(from, code::failed_precondition,
               failures.with_cause("run " + std::to_string(step_.which.number) + " of cluster '" +
                                   step_.spec.name +
                                   "' has failed; keys can be written again in its next run"));
  return true;
}

// Delivers the error before waits end, so that each task receives the cause first. Other waits must
// end before barriers, because ending a barrier would answer these waits.
void service::give_up(time_point now, fault_ptr const& f, bool refuses, effects& fx) {
  begin(now, fx);
  propagation_.announce_external_failure(f, refuses);
  end_waits(f);
  propagation_.finish_external_failure(f);
  note_changes();
}

// Polls deliver the error themselves; watchers wait for the tasks' new states.
void service::end_waits(fault_ptr const& f) {
  std::vector<call_id> waiting;
  for (auto const& [call, w] : step_.calls.all())
    if (w.kind == wait_kind::key || w.kind == wait_kind::alive) waiting.push_back(call);
  std::sort(waiting.begin(), waiting.end());
  for (auto const call : waiting) {
    withdraw(call, step_.calls.take(call));
    step_.answer(call, f);
  }
}

// A poll is cancelled without an error, so that the agent stops polling and survives until the
// service returns.
void service::refuse_stopped(request const& r) {
  auto const answer_stopped = [this](auto const& q) {
    using type = std::decay_t<decltype(q)>;
    if constexpr (!std::is_same_v<type, register_task>)
      if (refused(q.from)) return;
    if constexpr (std::is_same_v<type, watch_tasks>)
      return step_.answer(q.from.call, std::make_shared<task_states const>(task_states{{}, -1}));
    if constexpr (std::is_same_v<type, poll_for_error>)
      return step_.refuse(q.from, code::cancelled, shutting_down, false);
    step_.refuse(q.from, code::internal, "Coordination service has stopped.");
  };
  std::visit(answer_stopped, r);
}

void service::call_abandoned(time_point now, call_id call, effects& fx) {
  begin(now, fx);
  if (step_.calls.find(call) == nullptr) return;
  auto const w = step_.calls.take(call);
  withdraw(call, w);
  // A poll ends only when it is answered or its connection is closed.
  if (w.kind == wait_kind::poll) detector_.connection_closed(w.task);
}

void service::connection_closed(time_point now, task_index t, core::incarnation i) {
  step_.now = now;
  if (!step_.stopped && polls_.by_heartbeat() && t < registry_.size() &&
      registry_[t].incarnation == i)
    detector_.connection_closed(t);
}

void service::withdraw(call_id call, waiting_call const& w) {
  switch (w.kind) {
    case wait_kind::barrier:
      return callers_.withdraw(w);
    case wait_kind::key:
      return keys_.withdraw(call, w);
    case wait_kind::poll:
      return polls_.withdraw(w.task);
    case wait_kind::watch:
    case wait_kind::alive:
      return queries_.withdraw(call, w);
  }
}

std::string service::early_text(waiting_call const& w) {
  auto const waited = " after " + task_descriptions::seconds(step_.now - w.since) +
                      ", shortly before the call's deadline";
  if (w.kind == wait_kind::barrier) return faults_.early(barriers_.at(w.barrier()), waited);
  if (w.kind == wait_kind::key)
    return "Key " + shortened(store_.awaited(w.key()), 512) + " has not been set" + waited +
           wording_.not_connected();
  return "No answer" + waited + wording_.not_connected();
}

void service::answer_early(call_id call) {
  auto const text = record_.failures().with_cause(early_text(*step_.calls.find(call)));
  auto const w = step_.calls.take(call);
  withdraw(call, w);
  if (auto const* b = w.kind == wait_kind::barrier ? barriers_.find(w.barrier()) : nullptr;
      b && b->running && b->deadline != never)
    barriers_.note_gave_up(w.barrier(), w.task, step_.now);
  step_.answer(call, task_fault(w.task, code::deadline_exceeded, text));
}

void service::tick(time_point now, effects& fx) {
  auto const due = next_deadline();
  begin(now, fx);
  if (step_.stopped) return;
  if (due != never && now - due > step_.limits.stall_grace) detector_.forgive(now - due);
  detector_.check();
  while (barrier_service_.due() <= now) barrier_service_.first_due();
  note_changes();
  while (step_.calls.next_deadline() <= now) answer_early(step_.calls.first());
  if (queries_.due() <= now) queries_.notify_watchers();
  if (notices_.due() <= now) notices_.report_unreachable();
}

time_point service::next_deadline() const {
  if (step_.stopped) return never;
  return std::min({barrier_service_.due(), step_.calls.next_deadline(), queries_.due(),
                   notices_.due(), detector_.due()});
}

void service::stop(time_point now, effects& fx) {
  begin(now, fx);
  if (step_.stopped) return;
  step_.stopped = true;
  // Consequences of these barrier ends are skipped.
  for (auto const n : callers_.running()) {
    auto const& b = barriers_.at(n);
    auto const why = "Barrier " + faults_.shown(b.id) +
                     " failed because the coordination service is shutting down.";
    callers_.answer(callers_.end(
        n, {barrier_outcome::stopped, barrier_fault(b.instance(), code::aborted, why)}));
  }
  auto const gone = std::make_shared<task_states const>(task_states{{}, -1});
  std::vector<call_id> rest;
  for (auto const& [call, w] : step_.calls.all()) rest.push_back(call);
  std::sort(rest.begin(), rest.end());
  for (auto const call : rest) {
    auto const w = step_.calls.take(call);
    withdraw(call, w);
    if (w.kind == wait_kind::watch)
      step_.answer(call, gone);
    else
      step_.refuse({.call = call}, code::cancelled, shutting_down, false);
  }
  record_.stop();
}

void service::append_changed_records(touched const& by, std::vector<fact>& out) const {
  auto const& cluster = step_.spec.name;
  for (auto const t : by.tasks)
    if (!registry_.has_no_record(t)) out.push_back({cluster, registry_.fact_of(t)});
  for (auto const& key : by.keys) {
    auto const* e = store_.find(key);
    key_fact f{key, {}, step_.now};
    if (e) f.value = e->value, f.changed = e->changed;
    out.push_back({cluster, std::move(f)});
  }
  auto ids = by.forgotten;
  for (auto const n : by.ended)
    if (auto const* b = barriers_.find(n)) ids.push_back(b->id);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  for (auto const& id : ids)
    // Devices are not recorded, so a new exchange begins.
    if (id != step_.own.devices) out.push_back({cluster, barriers_.fact_of(id)});
}

void service::write_state(change_log const& log) const {
  record_.write_state(log);
  registry_.write_state(log);
  for (task_index t = 0; t < registry_.size(); ++t)
    if (callers_.devices().has(t)) log.note(devices_brought{t, callers_.devices().count(t)});
  notices_.write_state(log);
  barriers_.write_state(log);
  store_.write_state(log);
}

void service::append_all_records(std::vector<fact>& out) const {
  auto const& cluster = step_.spec.name;
  for (task_index t = 0; t < registry_.size(); ++t)
    if (!registry_.has_no_record(t)) out.push_back({cluster, registry_.fact_of(t)});
  for (auto const& [key, e] : store_.all())
    out.push_back({cluster, key_fact{key, e.value, e.changed}});
  for (auto const n : barriers_.finished())
    if (auto const& id = barriers_.at(n).id; id != step_.own.devices)
      out.push_back({cluster, barriers_.fact_of(id)});
}

void service::restore(restored_cluster const& r, time_point now) {
  step_.now = now;
  record_.restore(r.cluster);
  for (auto const& t : r.tasks)
    if (t.task < registry_.size()) {
      registry_.restore(t, now);
      if (t.hears_notices && t.state == agent_state::connected) notices_.restore(t.task);
    }
  for (auto const& k : r.keys)
    if (k.value) store_.restore(k.key, *k.value, k.changed);
  for (auto const& b : r.barriers) barriers_.restore(b);
}

generation_view service::view(time_point now) const {
  generation_view v;
  record_.describe(v);
  views().count(now, v);
  v.barriers_running = barriers_.running().size();
  v.barriers_remembered = barriers_.finished().size();
  v.keys = store_.all().size();
  v.key_bytes = store_.bytes();
  v.parked_polls = polls_.polls().waiting();
  v.parked_key_waits = store_.waiting_calls();
  v.parked_watches = queries_.watching();
  v.parked_calls = step_.calls.size();
  return v;
}

// Checks that each waiting call is stored in exactly one component.
std::string service::violated_invariant() const {
  auto const& alive = queries_.alive();
  auto const& polls = polls_.polls();
  auto const& calls = step_.calls;
  for (auto broken : {registry_.violated_invariant(), barriers_.violated_invariant(),
                      store_.violated_invariant(), alive.violated_invariant()})
    if (!broken.empty()) return broken;
  auto held = queries_.watching() + polls.waiting() + store_.waiting_calls() + alive.waiting();
  for (auto const n : barriers_.running()) {
    auto const& b = barriers_.at(n);
    held += b.arrived_count;
    for (std::size_t i = 0; i < b.calls.size(); ++i) {
      if (b.calls[i] == call_id{}) continue;
      auto const* w = calls.find(b.calls[i]);
      if (!w || w->kind != wait_kind::barrier || w->barrier() != n || w->task != (*b.who)[i])
        return "barrier " + b.id + " lists a call that is not parked at this barrier";
    }
  }
  for (task_index t = 0; t < registry_.size(); ++t)
    if (polls.of(t) != call_id{} && !calls.find(polls.of(t)))
      return step_.task_name(t) + "'s error poll is not among the parked calls";
  if (held != calls.size())
    return std::to_string(calls.size()) +
           " calls are parked, but barriers, keys and polls refer to " + std::to_string(held);
  return {};
}

}  // namespace muster::core::coordination
