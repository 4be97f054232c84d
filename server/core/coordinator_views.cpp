// Copies for readers. Nothing here changes anything.
#include <algorithm>

#include "server/core/coordinator_state.hpp"

namespace muster::core {

namespace {
job_view view(session const& s) {
  job_view v;
  v.id = s.id;
  v.name = s.spec.name;
  v.state = s.state;
  v.open = !s.sealed;
  v.stopping = s.stopping;
  v.on_error = s.spec.on_error;
  v.counts = s.counts;
  v.put_back = s.put_back;
  v.retried = s.retried;
  v.weight = s.spec.weight;
  v.deadline = s.deadline;
  v.error = s.first_error;
  v.created = s.created;
  v.finished = s.finished;
  v.metadata = s.spec.metadata;
  v.streaming = !s.spec.keep_values;
  v.generation = v.streaming ? s.generation : 0;
  v.holding = s.spec.hold_values;
  v.attached = s.attached;
  v.detached = s.spec.detached;
  v.lease_until = s.lease_until;
  v.values = s.held.size;
  v.value_bytes = s.value_bytes + s.spilled_bytes;
  return v;
}

task_view view(task_row const& t) {
  task_view v;
  v.row = t.row;
  v.job = t.job;
  v.index = t.index;
  v.state = t.state;
  v.since = t.since;
  v.last_seen = t.last_seen;
  v.incarnation = t.spec.incarnation;
  v.host = t.spec.host;
  v.version = t.spec.version;
  v.pid = t.spec.pid;
  v.slots = t.worker ? t.worker->slots : t.spec.slots;
  v.credits = t.worker ? t.worker->credits : t.spec.credits;
  v.running = t.worker ? t.worker->outstanding() : 0;
  v.finished = t.finished;
  v.failed = t.failed;
  v.restarts = t.restarts;
  v.reconnects = t.reconnects;
  v.draining = t.worker && t.worker->draining;
  v.away = t.worker && t.worker->away;
  if (t.worker && t.worker->waiting) v.starts_at = t.worker->starts_at;
  v.lost_since = t.lost_since;
  v.given_up = t.given_up;
  v.functions = t.spec.functions;
  v.labels = t.spec.labels;
  v.resources = t.spec.resources;
  if (t.worker) v.free = t.worker->free;
  v.error = t.error;
  return v;
}

per_worker_view view(per_worker_entry const& e, function_table const& functions) {
  per_worker_view v;
  v.id = e.id;
  v.name = e.name;
  v.function = functions[e.function].name;
  v.args = e.args;
  v.owner = e.owner;
  v.created = e.created;
  v.released = e.released;
  v.users = e.users;
  for (auto const& [task, part] : e.components)
    v.components.push_back({task.first, task.second, part.state, part.error, part.since});
  return v;
}
}  // namespace

result<per_worker_view> coordinator::per_worker(per_worker_id id) const {
  if (auto const* e = state_->per_worker.find(id)) return view(*e, state_->functions);
  return state_->unknown_per_worker(id);
}

page<per_worker_view, per_worker_id> coordinator::per_worker_values(per_worker_id after,
                                                                    std::size_t limit) const {
  page<per_worker_view, per_worker_id> out;
  auto const& all = state_->per_worker.all();
  for (auto it = all.upper_bound(after); it != all.end(); ++it) {
    if (out.items.size() == limit) {
      out.next = out.items.empty() ? after : out.items.back().id;
      break;
    }
    out.items.push_back(view(it->second, state_->functions));
  }
  return out;
}

attempt_view coordinator::state::attempt_of(closure_record const&, attempt_record const& a) const {
  auto const& p = places[a.place];
  return {a.attempt, p.worker, p.incarnation, p.host, a.started, a.ended, a.outcome};
}

result<job_view> coordinator::job(session_id id) const {
  if (auto const* s = state_->find_session(id)) return view(*s);
  return state_->unknown_session(id);
}

page<job_view, session_id> coordinator::jobs(session_id before, std::size_t limit) const {
  page<job_view, session_id> out;
  if (limit == 0) return out;
  auto const& all = state_->sessions;
  auto it = before == session_id{} ? all.end() : all.lower_bound(before);
  while (it != all.begin()) {
    if (out.items.size() == limit) {
      out.next = out.items.back().id;
      break;
    }
    --it;
    out.items.push_back(view(*it->second));
  }
  return out;
}

namespace {
closure_view view_of(coordinator const& c, closure_table const& closures, slot at) {
  auto const& r = closures[at];
  closure_view v;
  v.id = closures.id_of(at);
  v.job = r.owner->id;
  v.index = r.order;
  v.function = c.function_name(r.owner->lanes[r.lane].function);
  v.state = r.state;
  v.cancel_requested = r.stop_requested;
  if (auto const* d = r.details.get()) {
    if (d->extras) {
      v.options = d->extras->options;
      v.per_worker = d->extras->per_worker;
    }
    v.retries = d->retries;
    v.start_at = d->start_at;
    v.deadline = d->deadline;
    if (!d->input_ids.empty()) v.extras = d->extras;
    v.inputs = d->input_ids;
    v.inputs_missing = d->inputs_missing;
  }
  if (!ended(r.state)) v.args = r.args;  // else kept for lineage only
  v.created = r.created;
  v.finished = r.finished;
  return v;
}
}  // namespace

std::optional<holding> coordinator::held(stream_id stream, closure_id closure,
                                         std::uint32_t attempt) const {
  auto const& st = *state_;
  slot const c = st.closures.find(closure);
  if (c == no_slot) return {};
  auto const& r = st.closures[c];
  if (!r.worker || r.worker->stream != stream || r.attempt != attempt) return {};
  if (r.owner->id == session_id{}) return {};  // builds a per-worker value: of no session
  return holding{r.owner->id, r.order};
}

result<closure_view> coordinator::closure(closure_id id) const {
  auto const& st = *state_;
  slot const c = st.closures.find(id);
  if (c == no_slot) return st.unknown_value(id);
  auto const& r = st.closures[c];
  auto v = view_of(*this, st.closures, c);
  if (ended(r.state)) {
    auto value = st.value_of(c);
    v.value = value.value;
    v.data = value.data;
    v.value_bytes = value.data.size();
    v.spilled = r.where == value_place::disk;
    if (v.spilled) v.value_bytes = st.ledger.away.at(id);
    if (r.where == value_place::gone) {
      v.value = value_state::aborted;
      v.released = st.released_text(id);
    }
    if (r.state != closure_state::succeeded) v.error = value.failure;
  }
  std::uint32_t last_lost = 0;
  if (r.details)
    for (auto const& a : r.details->lost) {
      v.attempts.push_back(st.attempt_of(r, a));
      last_lost = a.attempt;
    }
  if (r.attempt > last_lost) {
    auto const& p = st.places[r.place];
    std::string outcome = "running";
    if (r.state == closure_state::succeeded) outcome = "succeeded";
    if (r.state == closure_state::failed) outcome = "failed";
    if (r.state == closure_state::cancelled) outcome = "cancelled";
    v.attempts.push_back(
        {r.attempt, p.worker, p.incarnation, p.host, r.started, r.finished, outcome});
  }
  return v;
}

result<page<closure_view, std::uint32_t>> coordinator::closures(
    session_id id, std::uint32_t from, std::size_t limit, closure_filter const& filter) const {
  auto const& st = *state_;
  auto const* s = state_->find_session(id);
  if (!s) return st.unknown_session(id);
  page<closure_view, std::uint32_t> out;
  auto const scan_end = std::min<std::size_t>(s->closures.size(), std::size_t{from} + 100'000);
  std::size_t i = from;
  for (; i < scan_end && out.items.size() < limit; ++i) {
    auto const& r = st.closures[s->closures[i]];
    if (filter.state && r.state != *filter.state) continue;
    if (filter.function && s->lanes[r.lane].function != *filter.function) continue;
    out.items.push_back(std::move(*closure(st.closures.id_of(s->closures[i]))));
  }
  if (i < s->closures.size()) out.next = static_cast<std::uint32_t>(i);
  return out;
}

page<task_view, std::size_t> coordinator::tasks(std::size_t after, std::size_t limit,
                                                task_filter const& filter) const {
  page<task_view, std::size_t> out;
  std::size_t i = 0;
  for (auto const& [key, t] : state_->registry.rows()) {
    if (i++ < after) continue;
    if (out.items.size() == limit) {
      out.next = i - 1;
      break;
    }
    if (filter.state && t->state != *filter.state) continue;
    if (!filter.job.empty() && t->job != filter.job) continue;
    out.items.push_back(view(*t));
  }
  return out;
}

result<task_view> coordinator::task(std::string_view job, std::int64_t index) const {
  if (auto const* t = state_->registry.find(job, index)) return view(*t);
  return status{code::not_found, "no task " + std::string(job) + ":" + std::to_string(index)};
}

std::vector<function_view> coordinator::functions() const {
  std::vector<function_view> out;
  for (auto const& f : state_->functions.all())
    out.push_back(
        {f.name, f.workers, f.waiting, f.queued, f.running, f.succeeded, f.failed, f.cancelled});
  return out;
}

closure_metrics const& coordinator::metrics() const {
  return state_->metrics;
}

overview_view coordinator::overview(time_point now) const {
  auto const& st = *state_;
  overview_view v;
  v.tasks_connected = st.registry.count(task_state::connected);
  v.tasks_late = st.registry.count(task_state::late);
  v.tasks_error = st.registry.count(task_state::error);
  v.tasks_disconnected = st.registry.count(task_state::disconnected);
  v.closures = st.counts;
  v.put_back = st.put_back;
  v.retried = st.retried;
  v.values_not_ready = st.counts.blocked + st.counts.queued + st.counts.running;
  v.values_ready = st.counts.succeeded + st.counts.failed + st.counts.cancelled - st.aborted;
  v.values_aborted = st.aborted;
  v.values_held = st.values_held;
  v.values_held_bytes = st.value_bytes + st.ledger.disk_bytes;
  v.values_spilled = st.ledger.on_disk_count;
  v.values_spilled_bytes = st.ledger.disk_bytes;
  v.jobs_running = st.jobs[static_cast<int>(job_state::running)];
  v.jobs_succeeded = st.jobs[static_cast<int>(job_state::succeeded)];
  v.jobs_failed = st.jobs[static_cast<int>(job_state::failed)];
  v.jobs_cancelled = st.jobs[static_cast<int>(job_state::cancelled)];
  v.sessions = st.streaming_sessions;
  v.parked_calls = st.waiters.size();
  if (st.stalled) {
    v.quiet_since = st.quiet_since;
    v.oldest_running = st.oldest_running();
  }

  std::vector<duration> ages;
  for (auto const& [key, t] : st.registry.rows())
    if (t->present()) ages.push_back(now - t->last_seen);
  if (!ages.empty()) {
    std::sort(ages.begin(), ages.end());
    v.heartbeat_p50 = ages[ages.size() / 2];
    v.heartbeat_p99 = ages[(ages.size() - 1) * 99 / 100];
    v.heartbeat_max = ages.back();
  }
  return v;
}

}  // namespace muster::core
