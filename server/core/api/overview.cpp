#include <algorithm>

#include "server/core/api/views.hpp"

namespace muster::core {
namespace {

constexpr std::size_t oldest_shown = 5;

void add(closure_counts& to, closure_counts const& o) {
  to.blocked += o.blocked, to.queued += o.queued, to.running += o.running;
  to.succeeded += o.succeeded, to.failed += o.failed, to.cancelled += o.cancelled;
}

template <class Entry>
void merge_oldest(std::vector<Entry>& to, std::vector<Entry> const& o, std::size_t shown) {
  to.insert(to.end(), o.begin(), o.end());
  std::sort(to.begin(), to.end(), [](auto const& a, auto const& b) { return a.since < b.since; });
  if (to.size() > shown) to.resize(shown);
}

}  // namespace

overview_view& overview_view::operator+=(overview_view const& o) {
  tasks_connected += o.tasks_connected, tasks_late += o.tasks_late;
  tasks_error += o.tasks_error, tasks_disconnected += o.tasks_disconnected;
  tasks_cordoned += o.tasks_cordoned;
  add(closures, o.closures);
  requeued += o.requeued, retried += o.retried;
  values_not_ready += o.values_not_ready;
  values_ready += o.values_ready, values_aborted += o.values_aborted;
  values_held += o.values_held, values_held_bytes += o.values_held_bytes;
  values_spilled += o.values_spilled, values_spilled_bytes += o.values_spilled_bytes;
  jobs_queued += o.jobs_queued;
  jobs_running += o.jobs_running, jobs_succeeded += o.jobs_succeeded;
  jobs_failed += o.jobs_failed, jobs_cancelled += o.jobs_cancelled;
  sessions += o.sessions, parked_calls += o.parked_calls;
  session_rows_bytes += o.session_rows_bytes;
  if (quiet_since == time_point{} || (o.quiet_since != time_point{} && o.quiet_since < quiet_since))
    quiet_since = o.quiet_since;
  merge_oldest(oldest_running, o.oldest_running, oldest_shown);
  closures_exclusive += o.closures_exclusive;
  merge_oldest(exclusive, o.exclusive, exclusive_max);
  heartbeat_p50 = std::max(heartbeat_p50, o.heartbeat_p50);
  heartbeat_p99 = std::max(heartbeat_p99, o.heartbeat_p99);
  heartbeat_max = std::max(heartbeat_max, o.heartbeat_max);
  return *this;
}

}  // namespace muster::core
