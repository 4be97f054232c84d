#include "web/metrics/prometheus.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <ctime>
#include <fstream>
#include <initializer_list>
#include <sstream>

#include "web/metrics/metric_text.hpp"

namespace muster::web {

namespace {

template <class T>
double as_double(T n) {
  return static_cast<double>(n);
}

double seconds(core::duration d) {
  return std::chrono::duration<double>(d).count();
}

void write_closures(metric_text& m, counters const& c) {
  auto const& n = c.overview.closures;
  m.family("muster_closures", "gauge", "Closures that wait or run, by state.")
      .sample("state", "blocked", as_double(n.blocked))
      .sample("state", "queued", as_double(n.queued))
      .sample("state", "running", as_double(n.running));
  m.family("muster_closures_finished_total", "counter", "Closures that ended, by how.")
      .sample("state", "succeeded", as_double(n.succeeded))
      .sample("state", "failed", as_double(n.failed))
      .sample("state", "cancelled", as_double(n.cancelled));
  m.family("muster_queue_depth", "gauge", "Closures that wait for a worker.")
      .sample(as_double(n.queued));
  m.family("muster_closures_put_back_total", "counter",
           "Times a closure was taken from a lost worker and queued again.")
      .sample(as_double(c.overview.put_back));
  m.family("muster_closures_retried_total", "counter",
           "Times a closure that raised was tried again.")
      .sample(as_double(c.overview.retried));
}

void write_cluster(metric_text& m, counters const& c) {
  auto const& o = c.overview;
  m.family("muster_tasks", "gauge", "Tasks of the cluster, by state.")
      .sample("state", "connected", o.tasks_connected)
      .sample("state", "late", o.tasks_late)
      .sample("state", "error", o.tasks_error)
      .sample("state", "disconnected", o.tasks_disconnected);
  m.family("muster_heartbeat_age_seconds", "gauge",
           "Time since the last sign of life, over connected tasks.")
      .sample("quantile", "0.5", seconds(o.heartbeat_p50))
      .sample("quantile", "0.99", seconds(o.heartbeat_p99))
      .sample("quantile", "1", seconds(o.heartbeat_max));
  m.family("muster_remote_values_not_ready", "gauge", "RemoteValues whose closure has not ended.")
      .sample(as_double(o.values_not_ready));
  m.family("muster_remote_values_total", "counter", "RemoteValues that were decided, by status.")
      .sample("status", "ready", as_double(o.values_ready))
      .sample("status", "aborted", as_double(o.values_aborted));
  m.family("muster_remote_values_held", "gauge", "RemoteValues kept for look-up.")
      .sample(as_double(o.values_held));
  m.family("muster_remote_values_held_bytes", "gauge", "Bytes of values kept for look-up.")
      .sample(as_double(o.values_held_bytes));
  m.family("muster_values_spilled", "gauge", "Values on the disk, among those that are held.")
      .sample(as_double(o.values_spilled));
  m.family("muster_values_spilled_bytes", "gauge", "Bytes of values on the disk.")
      .sample(as_double(o.values_spilled_bytes));
  m.family("muster_jobs", "gauge", "Jobs, by state; ended ones since the server started.")
      .sample("state", "running", as_double(o.jobs_running))
      .sample("state", "succeeded", as_double(o.jobs_succeeded))
      .sample("state", "failed", as_double(o.jobs_failed))
      .sample("state", "cancelled", as_double(o.jobs_cancelled));
  m.family("muster_sessions", "gauge", "gRPC sessions that are open.")
      .sample(as_double(o.sessions));
  m.family("muster_parked_calls", "gauge", "Calls that wait for a job or a value.")
      .sample(as_double(o.parked_calls));
}

void write_web(metric_text& m, web_metrics const& w) {
  m.family("muster_http_requests_total", "counter", "Answered HTTP requests, by status code.");
  for (std::size_t code = 0; code < w.requests.size(); ++code)
    if (w.requests[code] > 0) m.sample("code", std::to_string(code), as_double(w.requests[code]));
  m.family("muster_http_connections", "gauge", "HTTP connections that are open.")
      .sample(as_double(w.connections));
  m.family("muster_websocket_clients", "gauge", "WebSocket clients that are connected.")
      .sample(as_double(w.websocket_clients));
  m.family("muster_websocket_messages_total", "counter", "Messages sent to WebSocket clients.")
      .sample(as_double(w.websocket_messages));
  m.family("muster_websocket_bytes_total", "counter", "Bytes sent to WebSocket clients.")
      .sample(as_double(w.websocket_bytes));
  m.family("muster_websocket_slow_total", "counter", "Clients closed because they were too slow.")
      .sample(as_double(w.websocket_slow));
}

}  // namespace

process_facts read_process_facts() {
  process_facts p;
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    auto const s = [](timeval const& t) {
      return as_double(t.tv_sec) + as_double(t.tv_usec) / 1e6;
    };
    p.cpu_seconds = s(usage.ru_utime) + s(usage.ru_stime);
  }
  std::ifstream statm("/proc/self/statm");
  double total = 0, resident = 0;
  if (statm >> total >> resident) p.resident_bytes = resident * as_double(sysconf(_SC_PAGESIZE));
  // Field 22 of stat is the start in clock ticks since boot; the command, which may hold blanks,
  // ends at the last parenthesis.
  std::ifstream stat("/proc/self/stat");
  std::string line;
  std::getline(stat, line);
  if (auto const end = line.rfind(')'); end != std::string::npos) {
    std::istringstream fields(line.substr(end + 2));
    std::string field;
    for (int i = 3; i <= 22 && fields >> field; ++i) {
    }
    timespec now{}, since_boot{};
    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(CLOCK_BOOTTIME, &since_boot);
    auto const boot = as_double(now.tv_sec - since_boot.tv_sec);
    p.start_time_s = boot + std::strtod(field.c_str(), nullptr) / as_double(sysconf(_SC_CLK_TCK));
  }
  return p;
}

std::string prometheus_text(counters const& c, measured_closures const& closures,
                            std::vector<core::coordination::cluster_view> const& clusters,
                            web_metrics const& w, process_facts const& p) {
  metric_text m;
  write_cluster(m, c);
  write_clusters(m, clusters);
  write_closures(m, c);
  write_closure_metrics(m, closures);
  write_web(m, w);
  m.family("process_cpu_seconds_total", "counter", "User and system time.").sample(p.cpu_seconds);
  m.family("process_resident_memory_bytes", "gauge", "Resident memory.").sample(p.resident_bytes);
  m.family("process_start_time_seconds", "gauge", "Start, since the Unix epoch.")
      .sample(p.start_time_s);
  return m.take();
}

}  // namespace muster::web
