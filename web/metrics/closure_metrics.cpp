// The families on closures, tasks and logs, measured on the engine thread.
#include "web/metrics/closure_metrics.hpp"

namespace muster::web {

namespace {

void write_times(metric_text& m, core::closure_metrics const& c) {
  m.histogram("muster_closure_queue_wait_seconds",
              "From being ready to run to being started, for each attempt.", c.queue_wait);
  m.histogram("muster_closure_execution_seconds",
              "From being sent to a worker to its answer, for each attempt.", c.execution);
  m.histogram("muster_closure_total_seconds", "From being scheduled to the end, however it ended.",
              c.total);
  m.histogram("muster_remote_value_wait_seconds",
              "From asking for a value to its being there; 0 when it was there.", c.value_wait);
  m.histogram("muster_task_recovery_seconds", "From the loss of a task to its attaching again.",
              c.recovery);
}

void write_values(metric_text& m, core::closure_metrics const& c) {
  m.counter("muster_value_spills_total", "Values that were written to the disk.", c.values_written);
  m.counter("muster_value_loads_total", "Values that were read back from the disk.", c.values_read);
  m.family("muster_values_dropped_total", "counter",
           "Values that were released to stay within a limit, by reason.");
  for (std::size_t i = 0; i < c.values_dropped.size(); ++i)
    if (auto const why = static_cast<core::release_reason>(i);
        why >= core::release_reason::jobs || c.values_dropped[i] > 0)
      m.sample("reason", core::name(why), c.values_dropped[i]);
}

void write_tasks(metric_text& m, measured_closures const& c) {
  auto const each = [&](std::string_view name, std::string_view type, std::string_view help,
                        auto value) {
    m.family(name, type, help);
    for (auto const& t : c.tasks) m.sample("task", t.job + ":" + std::to_string(t.index), value(t));
  };
  each("muster_task_finished_total", "counter", "Closures that a task answered.",
       [](auto const& t) { return t.finished; });
  each("muster_task_failed_total", "counter", "Of those, the ones that failed.",
       [](auto const& t) { return t.failed; });
  each("muster_task_running", "gauge", "Closures that the slots of a task work on.",
       [](auto const& t) { return t.running; });
  each("muster_task_sent_ahead", "gauge", "Closures that a task holds beyond those; queued.",
       [](auto const& t) { return t.sent_ahead; });
  m.gauge("muster_tasks_unmeasured", "Tasks beyond those that have lines of their own.",
          c.tasks_more);
}

}  // namespace

measured_closures measure_closures(server::hub& h) {
  measured_closures c;
  c.metrics = h.state().metrics();
  c.now = h.now();
  c.tasks = h.state().tasks(0, tasks_measured, {}).items;
  auto const o = h.state().overview(c.now);
  auto const all =
      std::size_t{o.tasks_connected} + o.tasks_late + o.tasks_error + o.tasks_disconnected;
  c.tasks_more = all - std::min(all, c.tasks.size());
  c.logs = h.logs().count();
  return c;
}

void write_closure_metrics(metric_text& m, measured_closures const& c) {
  write_times(m, c.metrics);
  m.counter("muster_worker_failures_total",
            "Workers that were lost; what they held went back to the queue.",
            c.metrics.worker_failures);
  m.counter("muster_closures_recalled_total",
            "Closures sent ahead to one worker and given back for another.", c.metrics.recalled);
  m.counter("muster_closure_stop_requests_total",
            "Running closures that their workers were asked to stop.", c.metrics.stop_requests);
  auto full = c.metrics.full;
  if (c.metrics.full_since != core::never) full += c.now - c.metrics.full_since;
  m.counter("muster_queue_full_seconds_total",
            "Time in which at least one session's queue was full.", seconds(full));
  write_values(m, c.metrics);
  write_tasks(m, c);
  m.counter("muster_log_lines_total", "Lines that closures logged and printed.", c.logs.lines);
  m.counter("muster_log_lines_dropped_total", "Of those, dropped to make room.", c.logs.dropped);
  m.counter("muster_log_strays_total",
            "Reports on closures that their worker did not hold (any more).", c.logs.strays);
  m.gauge("muster_log_bytes", "Memory that lines and progress take.", c.logs.bytes);
}

}  // namespace muster::web
