#include "server/history/metrics/closure_meter.hpp"

#include <algorithm>

namespace muster::history {

void closure_meter::fold(effects const& fx, time_point now) {
  auto const& c = fx.changes;
  auto& m = metrics_;
  for (auto const waited : c.waits.queue) m.queue_wait.add(waited);
  for (auto const& e : c.ended) {
    if (e.restored) continue;
    m.total.add(e.of.finished - e.of.created);
    if (e.worker != worker_number{}) m.execution.add(e.of.finished - e.of.started);
  }
  for (auto const& a : c.attempts)
    if (a.how != attempt_end::worker_lost && a.how != attempt_end::not_there)
      m.execution.add(a.ended - a.started);
  for (auto const& moved : c.moved) m.retracted += moved.why == move_reason::retracted;
  for (auto const waited : c.waits.value) m.value_wait.add(waited);
  m.values_read += c.values_read.size();
  // A welcome message repeats earlier stop requests, which must not be counted again.
  if (fx.welcomes.empty()) m.stop_requests += fx.stop_requests.size();
  for (auto const& t : c.tasks) count_task(t, now);
  if (!c.values.empty()) count_values(c);
  if (!c.sessions.empty() || !c.sessions_released.empty()) count_sessions(c, now);
}

// A task that is declared lost and attaches again within one step does not count as recovered.
void closure_meter::count_task(task_changed const& t, time_point now) {
  if (t.state == task_state::error && !t.gone) {
    metrics_.worker_failures += lost_.try_emplace({t.job, t.index}, t.since).second;
    return;
  }
  auto const lost = lost_.find({t.job, t.index});
  if (lost == lost_.end()) return;
  if (t.state == task_state::connected && !t.gone && lost->second != now)
    metrics_.recovery.add(now - lost->second);
  lost_.erase(lost);
}

// If a closure was restored without its value, an earlier process lost the value, so the loss is
// not counted.
void closure_meter::count_values(changes const& c) {
  std::unordered_set<closure_id> restored;
  for (auto const& e : c.ended)
    if (e.restored) restored.insert(e.of.closure);
  for (auto const& v : c.values) {
    metrics_.values_written += v.where == value_place::disk;
    bool const wanted = v.why != release_reason::client;
    if (v.where == value_place::gone && wanted && !restored.contains(v.closure))
      ++metrics_.values_dropped[static_cast<std::size_t>(v.why)];
  }
}

void closure_meter::count_sessions(changes const& c, time_point now) {
  for (auto const& s : c.sessions) set_full(s.session, s.full, now);
  for (auto const& s : c.sessions_released) {
    set_full(s.session, false, now);
    bool const wanted = s.why == release_reason::client || s.why == release_reason::session_end ||
                        s.why == release_reason::job_deleted;
    if (!wanted) metrics_.values_dropped[static_cast<std::size_t>(s.why)] += s.values;
  }
}

void closure_meter::set_full(session_id s, bool full, time_point now) {
  if (!full && full_.empty()) return;
  bool const before = !full_.empty();
  if (full)
    full_.insert(s);
  else
    full_.erase(s);
  if (before == !full_.empty()) return;
  if (!before) {
    metrics_.full_since = now;
    return;
  }
  metrics_.full += now - metrics_.full_since;
  metrics_.full_since = never;
}

std::string closure_meter::invalid() const {
  if (full_.empty() != (metrics_.full_since == never))
    return "the full-queue timer is stopped while a queue is full, or running while no queue is "
           "full";
  if (metrics_.queue_wait.count() < metrics_.execution.count())
    return "the number of answered attempts exceeds the number of sent attempts";
  return {};
}

}  // namespace muster::history
