#include <algorithm>

#include "base/percentile.hpp"
#include "server/core/coordinator_state.hpp"

namespace muster::core {

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
  v.values_held_bytes = st.values.bytes() + st.values.disk_bytes() + st.values.blob_bytes();
  v.values_spilled = st.values.on_disk_count();
  v.values_spilled_bytes = st.values.disk_bytes();
  v.jobs_queued = st.sessions.jobs(job_state::queued);
  v.jobs_running = st.sessions.jobs(job_state::running);
  v.jobs_succeeded = st.sessions.jobs(job_state::succeeded);
  v.jobs_failed = st.sessions.jobs(job_state::failed);
  v.jobs_cancelled = st.sessions.jobs(job_state::cancelled);
  v.sessions = st.sessions.streams();
  v.parked_calls = st.step.waiters.size();
  if (st.watchdog.stalled()) {
    v.quiet_since = st.watchdog.quiet_since();
    v.oldest_running = st.dispatching.oldest_running();
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
    v.heartbeat_p50 = percentile(ages, 0.5);
    v.heartbeat_p99 = percentile(ages, 0.99);
    v.heartbeat_max = ages.back();
  }
  return v;
}

}  // namespace muster::core
