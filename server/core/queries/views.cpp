// Copies for readers. Nothing here changes anything.
#include <algorithm>

#include "server/core/api/explanation.hpp"
#include "server/core/api/waiting_views.hpp"
#include "server/core/coordinator_state.hpp"

namespace muster::core {

bool coordinator::knows(session_id id) const {
  return state_->sessions.find(id) || state_->sessions.note_of(id);
}

bool coordinator::knows(closure_id id) const {
  return state_->closures.is_mine(closure_table::slot_of(id));
}

bool coordinator::knows(per_worker_id id) const {
  return state_->builds.find(id) != nullptr;
}

namespace {

job_view view(std::string const& cluster, session const& s, closure_book::tally const& t,
              value_store::holder const& h) {
  job_view v;
  v.id = s.id;
  v.cluster = cluster;
  v.name = s.spec.name;
  v.state = s.state;
  v.open = !s.sealed;
  v.stopping = s.stopping;
  v.on_error = s.spec.on_error;
  v.counts = t.counts;
  v.not_kept = t.scheduled - std::min<std::uint64_t>(t.scheduled, t.counts.total());
  v.requeued = t.requeued;
  v.retried = t.retried;
  v.weight = s.spec.weight;
  v.deadline = s.deadline;
  v.error = s.first_error;
  v.created = s.created;
  v.finished = s.finished;
  v.metadata = s.spec.metadata;
  v.submitted_by = s.spec.submitted_by;
  v.streaming = s.traits().generations;
  v.generation = v.streaming ? s.generation : 0;
  v.resumable = s.traits().resumable;
  v.attached = s.attached;
  v.detached = s.spec.detached;
  v.lease_until = s.lease_until;
  v.held = s.held.size;
  v.values = h.live;
  v.value_bytes = h.bytes + h.spilled_bytes + h.blob_bytes;
  v.client = s.client;
  v.retry_of = s.spec.retry_of;
  v.durable = s.durable;
  v.retryable = s.traits().listed && s.terminal() && t.counts.failed + t.counts.cancelled > 0 &&
                !h.arguments_gone;
  return v;
}

// `at`: its worker's slots; null without one.
task_view view(std::string const& cluster, task_row const& t, worker_slots const* at) {
  task_view v;
  v.row = t.row;
  v.cluster = cluster;
  v.job = t.job;
  v.index = t.index;
  v.state = t.state;
  v.since = t.since;
  v.last_seen = t.last_seen;
  v.incarnation = t.spec.incarnation;
  v.host = t.spec.host;
  v.version = t.spec.version;
  v.pid = t.spec.pid;
  v.slots = at ? at->own_slots() : t.spec.slots;
  v.credits = at ? at->credits : t.spec.credits;
  v.running = at ? at->running.size - at->yielded : 0;
  v.waiting = at ? at->yielded : 0;
  v.prefetched = at ? at->prefetched.size : 0;
  v.finished = t.finished;
  v.failed = t.failed;
  v.restarts = t.restarts;
  v.reconnects = t.reconnects;
  v.draining = t.worker && t.worker->draining;
  v.cordoned = t.cordoned;
  v.away = t.worker && t.worker->away;
  if (t.worker && t.worker->waiting) v.starts_at = t.worker->starts_at;
  v.lost_since = t.lost_since;
  v.given_up = t.given_up;
  v.functions = t.spec.functions;
  v.labels = t.spec.labels;
  v.resources = t.spec.resources;
  if (at) v.free = at->free;
  v.error = t.error;
  return v;
}

per_worker_view view(std::string const& cluster, per_worker_entry const& e,
                     function_table const& functions) {
  per_worker_view v;
  v.id = e.id;
  v.cluster = cluster;
  v.name = e.name;
  v.function = functions[e.function].name;
  v.args = e.args;
  v.owner = e.owner;
  v.submitted_by = e.submitted_by;
  v.created = e.created;
  v.released = e.released;
  v.users = e.users;
  for (auto const& [task, part] : e.components)
    v.components.push_back({task.first, task.second, part.state, part.error, part.since});
  return v;
}
}  // namespace

result<per_worker_view> coordinator::per_worker(per_worker_id id) const {
  if (auto const* e = state_->builds.find(id))
    return view(configuration().cluster, *e, state_->book.functions);
  return state_->texts.unknown_per_worker(id);
}

page<per_worker_view, per_worker_id> coordinator::per_worker_values(per_worker_id after,
                                                                    std::size_t limit) const {
  page<per_worker_view, per_worker_id> out;
  auto const& all = state_->builds.all();
  for (auto it = all.upper_bound(after); it != all.end(); ++it) {
    if (out.items.size() == limit) {
      out.next = out.items.empty() ? after : out.items.back().id;
      break;
    }
    out.items.push_back(view(configuration().cluster, it->second, state_->book.functions));
  }
  return out;
}

job_view coordinator::state::view_of(session const& s) const {
  return view(step.config.cluster, s, of(s), values.of(s.number));
}

task_view coordinator::state::view_of(task_row const& t) const {
  return view(step.config.cluster, t, t.worker ? &scheduler.of(t.worker->number) : nullptr);
}

result<job_view> coordinator::job(session_id id) const {
  if (auto const* s = state_->sessions.find(id)) return state_->view_of(*s);
  return state_->texts.unknown_session(id);
}

page<job_view, session_id> coordinator::jobs(session_id before, std::size_t limit) const {
  page<job_view, session_id> out;
  auto const& all = state_->sessions.all();
  auto it = before == session_id{} ? all.end() : all.lower_bound(before);
  while (it != all.begin() && out.items.size() < limit)
    out.items.push_back(state_->view_of(*(--it)->second));
  if (it != all.begin() && !out.items.empty()) out.next = out.items.back().id;
  return out;
}

time_point coordinator::waits_since() const {
  auto first = never;
  for (auto const& [id, s] : state_->sessions.all())
    if (state_->of(*s).waiting() > 0) first = std::min(first, s->created);
  if (first == never) return never;
  for (auto const& [key, t] : state_->registry.tasks.rows())
    if (!t->present()) first = std::max(first, t->since);
  return first;
}

time_point coordinator::disk_fails_since() const {
  return state_->values.disk_fails_since();
}

void coordinator::state::name(closure_view& v, function_id f) const {
  auto const& known = book.functions[f];
  v.function = book.functions[known.served].name;
  if (known.callable) v.display_name = known.name;
  v.callable = known.hash;
}

namespace {
closure_view view_of(closure_table const& closures, session_id job, slot at) {
  auto const& r = closures[at];
  closure_view v;
  v.id = closures.id_of(at);
  v.job = job;
  v.index = r.order;
  v.state = r.state();
  v.cancel_requested = r.stop_requested;
  v.exclusive = r.exclusive;
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
    auto const shown = std::min(d->dependents.size(), v.dependents_max);
    v.dependents.assign(d->dependents.begin(), d->dependents.begin() + static_cast<long>(shown));
    v.dependents_more = d->dependents.size() - shown;
  }
  if (!ended(r.state())) v.args = r.args;  // else kept for lineage only
  v.created = r.created;
  v.finished = r.finished;
  return v;
}
}  // namespace

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
  if (s.id == session_id{}) return {};  // the core's own
  return held_place{s.id, r.order, r.stop_requested};
}

std::string_view coordinator::called(closure_id closure) const {
  auto const& functions = state_->book.functions;
  slot const c = state_->closures.find(closure);
  if (c == no_slot) return {};
  auto const& known = functions[state_->closures[c].function];
  return known.callable ? std::string_view(known.name) : functions[known.served].name;
}

result<closure_view> coordinator::closure(closure_id id) const {
  auto const& st = *state_;
  slot const c = st.closures.find(id);
  if (c == no_slot) return st.texts.unknown_value(id);
  auto const& r = st.closures[c];
  auto v = view_of(st.closures, st.sessions.of(r.owner).id, c);
  st.name(v, r.function);
  if (ended(r.state())) {
    auto value = st.keeping.value_of(c);
    v.value = value.value;
    v.data = value.data;
    v.value_bytes = size_of_value(value.data);
    v.spilled = r.where == value_place::disk;
    if (v.spilled) v.value_bytes = st.values.bytes_away(id);
    if (r.where == value_place::gone) {
      v.value = value_state::aborted;
      v.released = st.texts.released_text(id);
    }
    if (r.state() != closure_state::succeeded) v.error = value.failure;
  }
  std::uint32_t last_lost = 0;
  if (r.details)
    for (auto const& a : r.details->lost) {
      v.attempts.push_back(st.attempt_of(a));
      last_lost = a.attempt;
    }
  if (r.sent()) {
    v.sent_to = st.places[r.place].worker;
  } else if (r.attempt > last_lost) {
    auto const& p = st.places[r.place];
    v.attempts.push_back(
        {r.attempt, p.worker, p.incarnation, p.host, r.started, r.finished, {end_of(r.state())}});
  }
  return v;
}

result<explanation> coordinator::explain(closure_id id, time_point now) const {
  slot const c = state_->closures.find(id);
  if (c != no_slot) {
    auto e = state_->explain.explain(c, now);
    e.version = state_->versions.why_it_waits(c, now);
    return e;
  }
  return state_->texts.unknown_value(id);
}

bool coordinator::has_no_worker(closure_id id) const {
  slot const c = state_->closures.find(id);
  return c != no_slot && state_->explain.has_no_worker(c);
}

gangs_view coordinator::gangs() const {
  return state_->explain.gangs();
}

unmet_demand_view coordinator::unmet_demand() const {
  return state_->explain.unmet_demand();
}

result<page<closure_view, std::uint32_t>> coordinator::closures(session_id id, std::uint32_t from,
                                                                std::size_t limit) const {
  auto const& st = *state_;
  auto const* s = st.sessions.find(id);
  if (!s) return st.texts.unknown_session(id);
  page<closure_view, std::uint32_t> out;
  auto const& all = st.of(*s).closures;
  std::size_t i = from;
  for (; i < all.size() && out.items.size() < limit; ++i)
    out.items.push_back(std::move(*closure(st.closures.id_of(all[i]))));
  if (i < all.size()) out.next = static_cast<std::uint32_t>(i);
  return out;
}

page<task_view, std::size_t> coordinator::tasks(std::size_t after, std::size_t limit,
                                                task_filter const& filter) const {
  page<task_view, std::size_t> out;
  std::size_t i = 0;
  for (auto const& [key, t] : state_->registry.tasks.rows()) {
    if (i++ < after) continue;
    if (out.items.size() == limit) {
      out.next = i - 1;
      break;
    }
    if (filter.state && t->state != *filter.state) continue;
    if (!filter.job.empty() && t->job != filter.job) continue;
    out.items.push_back(state_->view_of(*t));
  }
  return out;
}

result<task_view> coordinator::task(std::string_view job, std::int64_t index) const {
  if (auto const* t = state_->registry.tasks.find(job, index)) return state_->view_of(*t);
  return status{code::not_found, "no task " + std::string(job) + ":" + std::to_string(index)};
}

exclusive_closure coordinator::state::exclusive_of(closure_id id) const {
  auto const& r = closures[closures.find(id)];
  return {id,
          sessions.of(r.owner).id,
          book.functions[r.function].name,
          r.details->workers_lost,
          r.worker == worker_number{} ? std::string() : places[r.place].worker,
          r.details->exclusive_since};
}

overview_view coordinator::overview(time_point now) const {
  auto const& st = *state_;
  overview_view v;
  v.tasks_connected = st.registry.tasks.count(task_state::connected);
  v.tasks_late = st.registry.tasks.count(task_state::late);
  v.tasks_error = st.registry.tasks.count(task_state::error);
  v.tasks_disconnected = st.registry.tasks.count(task_state::disconnected);
  v.closures = st.book.counts();
  v.requeued = st.book.requeued();
  v.retried = st.book.retried();
  v.values_not_ready =
      st.book.counts().blocked + st.book.counts().queued + st.book.counts().running;
  v.values_ready = st.book.counts().succeeded + st.book.counts().failed +
                   st.book.counts().cancelled - st.book.aborted();
  v.values_aborted = st.book.aborted();
  v.values_held = st.values.held();
  v.values_held_bytes = st.values.bytes() + st.values.disk_bytes();
  v.values_spilled = st.values.on_disk_count();
  v.values_spilled_bytes = st.values.disk_bytes();
  v.jobs_running = st.sessions.jobs(job_state::running);
  v.jobs_succeeded = st.sessions.jobs(job_state::succeeded);
  v.jobs_failed = st.sessions.jobs(job_state::failed);
  v.jobs_cancelled = st.sessions.jobs(job_state::cancelled);
  v.sessions = st.sessions.streams();
  v.parked_calls = st.step.waiters.size();
  if (st.watchdog.stalled()) {
    v.quiet_since = st.watchdog.quiet_since();
    v.oldest_running = st.handing.oldest_running();
  }
  auto const& exclusive = st.scheduler.exclusives.all();
  v.closures_exclusive = exclusive.size();
  for (auto it = exclusive.begin(); it != exclusive.end() && v.exclusive.size() < v.exclusive_max;
       ++it)
    v.exclusive.push_back(st.exclusive_of(it->second));

  std::vector<duration> ages;
  for (auto const& [key, t] : st.registry.tasks.rows()) {
    v.tasks_cordoned += t->cordoned;
    if (t->present()) ages.push_back(now - t->last_seen);
  }
  if (!ages.empty()) {
    std::sort(ages.begin(), ages.end());
    v.heartbeat_p50 = ages[ages.size() / 2];
    v.heartbeat_p99 = ages[(ages.size() - 1) * 99 / 100];
    v.heartbeat_max = ages.back();
  }
  return v;
}

}  // namespace muster::core
