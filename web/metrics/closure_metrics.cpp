#include "web/metrics/closure_metrics.hpp"

#include <algorithm>

#include "server/core/programs/controller.hpp"
#include "server/core/queries/function_queries.hpp"
#include "server/core/queries/worker_queries.hpp"
#include "server/history/closures.hpp"
#include "web/json/machine_json.hpp"

namespace muster::web {

namespace {

void write_times(metric_text& m, history::closure_metrics const& c) {
  m.histogram("muster_closure_queue_wait_seconds",
              "Time from when a closure is ready until it starts, for each attempt.", c.queue_wait);
  m.histogram("muster_closure_execution_seconds",
              "Time from the dispatch to a worker until its answer, for each attempt.",
              c.execution);
  m.histogram("muster_closure_total_seconds",
              "Time from scheduling until the closure ends, with any result.", c.total);
  m.histogram("muster_remote_value_wait_seconds",
              "Time from a request for a value until it is available; 0 if it already was.",
              c.value_wait);
  m.histogram("muster_task_recovery_seconds", "Time from the loss of a task until it reconnects.",
              c.recovery);
}

void write_values(metric_text& m, history::closure_metrics const& c) {
  m.counter("muster_value_spills_total", "Values written to disk.", c.values_written);
  m.counter("muster_value_loads_total", "Values read back from disk.", c.values_read);
  m.family("muster_values_dropped_total", "counter",
           "Values released to stay within a limit, by reason.");
  for (std::size_t i = 0; i < c.values_dropped.size(); ++i)
    if (auto const why = static_cast<core::release_reason>(i);
        why >= core::release_reason::jobs || c.values_dropped[i] > 0)
      m.sample("reason", core::name(why), c.values_dropped[i]);
}

std::string name_of(core::task_view const& t) {
  return (t.cluster.empty() ? "" : t.cluster + "/") + t.job + ":" + std::to_string(t.index);
}

// Tasks of the main cluster have no label `cluster`, so that dashboards written for older versions
// keep working.
template <class Value>
void write_task(metric_text& m, core::task_view const& t, Value value) {
  auto const task = t.job + ":" + std::to_string(t.index);
  if (t.cluster.empty())
    m.sample("task", task, value);
  else
    m.sample({"cluster", t.cluster}, {"task", task}, value);
}

void write_tasks(metric_text& m, measured_closures const& c) {
  auto const each = [&](std::string_view name, std::string_view type, std::string_view help,
                        auto value) {
    m.family(name, type, help);
    for (auto const& t : c.tasks) write_task(m, t, value(t));
  };
  each("muster_task_finished_total", "counter", "Closures that ended on a task.",
       [](auto const& t) { return t.finished; });
  each("muster_task_failed_total", "counter", "Closures that failed on a task.",
       [](auto const& t) { return t.failed; });
  each("muster_task_running", "gauge", "Closures that a task is executing.",
       [](auto const& t) { return t.running; });
  each("muster_task_sent_ahead", "gauge", "Queued closures that a task has prefetched.",
       [](auto const& t) { return t.prefetched; });
  m.gauge("muster_tasks_unmeasured",
          "Tasks without samples of their own, because the limit was reached.", c.tasks_more);
}

void write_machines(metric_text& m, measured_closures const& c) {
  auto const each = [&](std::string_view name, std::string_view help, auto value) {
    m.family(name, "gauge", help);
    for (std::size_t i = 0; i < c.tasks.size(); ++i)
      if (auto const v = c.machines[i] ? value(*c.machines[i]) : std::nullopt)
        write_task(m, c.tasks[i], *v);
  };
  each("muster_worker_cpu_cores", "Busy cores on a worker's machine.",
       [](machine const& s) { return s.cpu; });
  each("muster_worker_usable_cpu_cores", "Cores that a worker can use.",
       [](machine const& s) { return s.cpus; });
  each("muster_worker_memory_bytes", "Memory in use on a worker's machine.",
       [](machine const& s) { return s.memory; });
  each("muster_worker_memory_limit_bytes", "Memory that a worker can use.",
       [](machine const& s) { return s.memory_total; });
  each("muster_worker_received_rate_bytes", "Bytes per second received by a worker's machine.",
       [](machine const& s) { return s.received; });
  each("muster_worker_sent_rate_bytes", "Bytes per second sent by a worker's machine.",
       [](machine const& s) { return s.sent; });
  auto const gpus = [&](std::string_view name, std::string_view help, auto value) {
    m.family(name, "gauge", help);
    for (std::size_t i = 0; i < c.tasks.size(); ++i) {
      if (!c.machines[i]) continue;
      for (std::size_t g = 0; g < c.machines[i]->gpus.size(); ++g)
        if (auto const v = value(c.machines[i]->gpus[g]))
          m.sample({"task", name_of(c.tasks[i])}, {"gpu", std::to_string(g)}, *v);
    }
  };
  gpus("muster_worker_gpu_busy", "Fraction of time that a GPU is busy.",
       [](machine::gpu const& g) { return g.busy; });
  gpus("muster_worker_gpu_memory_bytes", "Memory in use on a GPU.",
       [](machine::gpu const& g) { return g.memory; });
}

void write_functions(metric_text& m, measured_closures const& c) {
  m.family("muster_function_closures", "gauge", "Unfinished closures by display name and state.");
  for (auto const& f : c.functions) {
    m.sample({"function", f.name}, {"state", "waiting"}, f.waiting);
    m.sample({"function", f.name}, {"state", "queued"}, f.queued);
    m.sample({"function", f.name}, {"state", "running"}, f.running);
  }
  m.family("muster_function_finished_total", "counter",
           "Closures that ended, by display name and result.");
  for (auto const& f : c.functions) {
    m.sample({"function", f.name}, {"state", "succeeded"}, f.succeeded);
    m.sample({"function", f.name}, {"state", "failed"}, f.failed);
    m.sample({"function", f.name}, {"state", "cancelled"}, f.cancelled);
  }
}

void add_steps(server::hub& h, std::vector<measured_steps>& to) {
  for (auto const& [id, attempt] : h.programs().steps().table().attempts()) {
    if (to.size() == stepping_programs_measured) return;
    auto const p = h.state().programs().find(id);
    auto const all = h.programs().steps().table().whole(id, attempt, false);
    if (p && all && p->attempt == attempt && p->state == core::program_state::running)
      to.push_back({core::text(id), p->spec.name, all->least, all->took});
  }
}

void measure(server::hub& h, bool main, measured_closures& into) {
  add_shown(h.state().functions().shown(), functions_measured, into.functions);
  auto const o = history::overview(h.past(), h.state(), into.now);
  if (into.pools.size() < pools_measured)
    into.pools.push_back({h.state().configuration().cluster, o});
  into.metrics.add(h.past().metrics(), into.now);
  auto const room = tasks_measured - into.tasks.size();
  auto some = h.state().workers().list(0, room, {}).items;
  auto const all =
      std::size_t{o.tasks_connected} + o.tasks_late + o.tasks_error + o.tasks_disconnected;
  into.tasks_more += all - std::min(all, some.size());
  for (auto const& t : some) into.machines.push_back(machine_of(h.machines(), t, into.now));
  if (main)
    for (auto& t : some) t.cluster.clear();
  std::move(some.begin(), some.end(), std::back_inserter(into.tasks));
  auto const logs = h.logs().count();
  into.logs.lines += logs.lines, into.logs.dropped += logs.dropped;
  into.logs.strays += logs.strays, into.logs.bytes += logs.bytes;
  auto const programs = h.state().programs().counts();
  for (std::size_t i = 0; i < enum_size<core::program_state>; ++i)
    into.programs.by_state[i] += programs.by_state[i];
  into.programs.ranks_alive += programs.ranks_alive;
  into.program_totals += h.past().programs();
  add_steps(h, into.steps);
  auto const objects = h.objects().state().counts();
  for (std::size_t i = 0; i < objects.by_state.size(); ++i)
    into.objects.by_state[i] += objects.by_state[i];
  for (std::size_t i = 0; i < enum_size<core::objects::call_end>; ++i)
    into.objects.calls[i] += objects.calls[i];
  into.datasets += h.objects().state().dataset_totals();
}

void write_pools(metric_text& m, measured_closures const& c) {
  m.family("muster_cluster_closures", "gauge", "Unfinished closures by cluster and state.");
  for (auto const& p : c.pools) {
    m.sample({"cluster", p.cluster}, {"state", "blocked"}, p.now.closures.blocked);
    m.sample({"cluster", p.cluster}, {"state", "queued"}, p.now.closures.queued);
    m.sample({"cluster", p.cluster}, {"state", "running"}, p.now.closures.running);
  }
  m.family("muster_cluster_workers", "gauge", "Connected closure workers by cluster.");
  for (auto const& p : c.pools)
    m.sample("cluster", p.cluster, p.now.tasks_connected + p.now.tasks_late);
}

}  // namespace

measured_closures measure_closures(server::pools& all) {
  measured_closures c;
  c.now = all.main().now();
  all.for_each([&](server::hub& h) { measure(h, &h == &all.main(), c); });
  return c;
}

void write_closure_metrics(metric_text& m, measured_closures const& c) {
  write_times(m, c.metrics);
  m.counter("muster_worker_failures_total", "Lost workers whose closures were requeued.",
            c.metrics.worker_failures);
  m.counter("muster_closures_recalled_total",
            "Prefetched closures that were moved from one worker to another worker.",
            c.metrics.retracted);
  m.counter("muster_closure_stop_requests_total",
            "Running closures whose workers were asked to stop them.", c.metrics.stop_requests);
  auto full = c.metrics.full;
  if (c.metrics.full_since != core::never) full += c.now - c.metrics.full_since;
  m.counter("muster_queue_full_seconds_total",
            "Time during which the queue of at least one session was full.", seconds(full));
  write_values(m, c.metrics);
  write_pools(m, c);
  write_functions(m, c);
  write_tasks(m, c);
  write_machines(m, c);
  m.counter("muster_log_lines_total", "Lines logged or printed by closures.", c.logs.lines);
  m.counter("muster_log_lines_dropped_total",
            "Log lines of closures that were dropped to make room.", c.logs.dropped);
  m.counter("muster_log_strays_total",
            "Log reports from workers about closures that were not assigned to them.",
            c.logs.strays);
  m.gauge("muster_log_bytes", "Memory used by log lines and progress reports of closures.",
          c.logs.bytes);
}

}  // namespace muster::web
