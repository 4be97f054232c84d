#include "web/metrics/prometheus.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
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

void write_closures(metric_text& m, counters const& c) {
  auto const& n = c.overview.closures;
  m.family("muster_closures", "gauge", "Unfinished closures by state.")
      .sample("state", "blocked", n.blocked)
      .sample("state", "queued", n.queued)
      .sample("state", "running", n.running);
  m.family("muster_closures_finished_total", "counter", "Closures that ended, by result.")
      .sample("state", "succeeded", n.succeeded)
      .sample("state", "failed", n.failed)
      .sample("state", "cancelled", n.cancelled);
  m.gauge("muster_queue_depth", "Closures that are waiting for a worker.", n.queued);
  m.counter("muster_closures_put_back_total",
            "Times that a closure was requeued because its worker was lost.", c.overview.requeued);
  m.counter("muster_closures_retried_total", "Times that a closure was retried after an exception.",
            c.overview.retried);
}

void write_cluster(metric_text& m, counters const& c) {
  auto const& o = c.overview;
  m.family("muster_tasks", "gauge", "Tasks of the cluster, by state.")
      .sample("state", "connected", o.tasks_connected)
      .sample("state", "late", o.tasks_late)
      .sample("state", "error", o.tasks_error)
      .sample("state", "disconnected", o.tasks_disconnected);
  m.family("muster_heartbeat_age_seconds", "summary",
           "Time since the last message of connected tasks.")
      .sample("quantile", "0.5", seconds(o.heartbeat_p50))
      .sample("quantile", "0.99", seconds(o.heartbeat_p99))
      .sample("quantile", "1", seconds(o.heartbeat_max));
  m.gauge("muster_remote_values_not_ready", "RemoteValues whose closure has not ended.",
          o.values_not_ready);
  m.family("muster_remote_values_total", "counter",
           "RemoteValues that are no longer pending, by status.")
      .sample("status", "ready", o.values_ready)
      .sample("status", "aborted", o.values_aborted);
  m.gauge("muster_remote_values_held", "RemoteValues that are stored.", o.values_held);
  m.gauge("muster_remote_values_held_bytes", "Bytes of stored values, including their blobs.",
          o.values_held_bytes);
  m.gauge("muster_values_spilled", "Stored values that are on disk.", o.values_spilled);
  m.gauge("muster_values_spilled_bytes", "Bytes of stored values on disk.", o.values_spilled_bytes);
  m.family("muster_jobs", "gauge",
           "Jobs by state; ended jobs are counted since the server started.")
      .sample("state", "queued", o.jobs_queued)
      .sample("state", "running", o.jobs_running)
      .sample("state", "succeeded", o.jobs_succeeded)
      .sample("state", "failed", o.jobs_failed)
      .sample("state", "cancelled", o.jobs_cancelled);
  m.gauge("muster_closures_alone",
          "Closures that repeatedly lost their worker and therefore run alone on the next worker.",
          o.closures_exclusive);
  m.gauge("muster_tasks_cordoned", "Cordoned tasks, which receive no new work.", o.tasks_cordoned);
  m.gauge("muster_sessions", "gRPC sessions that are open.", o.sessions);
  m.gauge("muster_session_rows_bytes",
          "Bytes of the summaries of removed closures of gRPC sessions.", o.session_rows_bytes);
  m.gauge("muster_parked_calls", "Calls that are waiting for a job or a value.", o.parked_calls);
}

void write_web(metric_text& m, web_metrics const& w) {
  m.family("muster_http_requests_total", "counter", "Answered HTTP requests, by status code.");
  for (std::size_t code = 0; code < w.requests.size(); ++code)
    if (w.requests[code] > 0) m.sample("code", std::to_string(code), w.requests[code]);
  m.gauge("muster_http_connections", "HTTP connections that are open.", w.connections);
  m.gauge("muster_websocket_clients", "WebSocket clients that are connected.", w.websocket_clients);
  m.counter("muster_websocket_messages_total", "Messages sent to WebSocket clients.",
            w.websocket_messages);
  m.counter("muster_websocket_bytes_total", "Bytes sent to WebSocket clients.", w.websocket_bytes);
  m.counter("muster_websocket_slow_total",
            "Clients that were disconnected because they were too slow.", w.websocket_slow);
  auto const notices = w.notices();
  m.family("muster_webhook_posts_total", "counter", "Messages sent about alerts, by result.")
      .sample("result", "posted", notices.posted)
      .sample("result", "failed", notices.failed)
      .sample("result", "dropped", notices.dropped);
}

void write_listeners(metric_text& m, connection_counts const& http, connection_counts const& grpc) {
  m.family("muster_half_open_connections", "gauge",
           "Connections whose first request, or whose HTTP/2 preface, is incomplete.")
      .sample("port", "http", http.half_open)
      .sample("port", "grpc", grpc.half_open);
  m.family("muster_connections_dropped_total", "counter",
           "Connections that were closed because they were slow, to make room for others, or "
           "because they exceeded a limit, by reason.");
  auto const dropped = [&m](std::string_view port, std::string_view why, std::uint64_t n) {
    m.sample({"port", port}, {"reason", why}, n);
  };
  dropped("http", "header_timeout", http.header_timeout);
  dropped("http", "body_timeout", http.body_timeout);
  dropped("http", "address_limit", http.address_limit);
  dropped("http", "made_room", http.made_room);
  dropped("grpc", "preface_timeout", grpc.header_timeout);
  dropped("grpc", "address_limit", grpc.address_limit);
  dropped("grpc", "made_room", grpc.made_room);
  dropped("grpc", "header_block", grpc.header_block);
  dropped("grpc", "before_token", grpc.before_token);
  dropped("grpc", "memory", grpc.memory);
  m.gauge("muster_grpc_connection_memory_bytes",
          "Bytes of unfinished messages and header blocks on gRPC connections.", grpc.held_bytes);
  m.gauge("muster_grpc_connection_memory_max_bytes",
          "Limit on the bytes held by gRPC connections (--connection-memory-max).",
          grpc.memory_max);
  m.family("muster_out_of_descriptors_total", "counter",
           "Times that a connection had to wait for a file descriptor.")
      .sample("port", "http", http.out_of_descriptors)
      .sample("port", "grpc", grpc.out_of_descriptors);
}

void write_journal(metric_text& m, server::coordination_hub::durability const& d) {
  m.counter("muster_journal_batches_total", "Batches of changes passed to the journal.", d.written);
  m.counter("muster_journal_durable_batches_total", "Batches of changes that are on disk.",
            d.durable);
  m.gauge("muster_journal_waiting_bytes", "Bytes that are waiting to be written.",
          d.store.waiting_bytes);
  m.gauge("muster_journal_disk_bytes", "Size of the data directory.", d.store.disk_bytes);
  m.gauge("muster_journal_epoch",
          "Number of times that a server was started with the data directory.", d.store.epoch);
  m.gauge("muster_journal_failed", "1 if the disk has failed and nothing more is written.",
          d.failed() ? 1 : 0);
  m.gauge("muster_journal_disk_full",
          "1 if the disk of the data directory is full and new durable work is refused.",
          d.full() ? 1 : 0);
  if (d.store.free_bytes)
    m.gauge("muster_journal_disk_free_bytes", "Free bytes of the data directory's disk.",
            *d.store.free_bytes);
  if (auto const& h = d.store.history) {
    m.gauge("muster_history_bytes", "Bytes of the stored history on disk.", h->bytes);
    m.counter("muster_history_dropped_total",
              "History records that are missing, because there was no room, a write failed, or "
              "they are unreadable.",
              h->dropped);
    m.counter("muster_history_unreadable_total", "History records on disk that cannot be read.",
              h->unreadable);
  }
  if (d.store.leader.empty()) return;
  m.gauge("muster_store_leader",
          "1 if this server is the leader among the servers that share its store.", 1);
}

/// Returns seconds since the Unix epoch, or 0 if the start time is unknown.
double read_start_time() {
  // Field 22 is the start time in clock ticks since boot. The command can contain spaces and ends
  // at the last parenthesis.
  std::ifstream stat("/proc/self/stat");
  std::string line;
  std::getline(stat, line);
  auto const end = line.rfind(')');
  if (end == std::string::npos) return 0;
  std::istringstream fields(line.substr(end + 2));
  std::string field;
  for (int i = 3; i <= 22 && fields >> field; ++i) {
  }
  auto const seconds = [](clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return as_double(t.tv_sec) + as_double(t.tv_nsec) / 1e9;
  };
  return seconds(CLOCK_REALTIME) - seconds(CLOCK_BOOTTIME) +
         std::strtod(field.c_str(), nullptr) / as_double(sysconf(_SC_CLK_TCK));
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
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) p.open_files_max = as_double(files.rlim_cur);
  std::error_code error;
  std::filesystem::directory_iterator const open("/proc/self/fd", error);
  if (!error) p.open_files = as_double(std::distance(begin(open), end(open)) - 1);
  std::ifstream statm("/proc/self/statm");
  double total = 0, resident = 0;
  if (statm >> total >> resident) p.resident_bytes = resident * as_double(sysconf(_SC_PAGESIZE));
  // Computed once, because repeated clock readings would give different start times.
  static double const started = read_start_time();
  p.start_time_s = started;
  return p;
}

std::string prometheus_text(counters const& c, measured_closures const& closures,
                            measured_coordination const& coordination, web_metrics const& w,
                            process_facts const& p) {
  metric_text m;
  write_cluster(m, c);
  write_clusters(m, coordination.clusters);
  if (coordination.durable) write_journal(m, *coordination.durable);
  write_closures(m, c);
  write_closure_metrics(m, closures);
  write_program_metrics(m, closures.programs, closures.program_totals);
  write_step_metrics(m, closures.steps);
  write_object_metrics(m, closures.objects);
  write_dataset_metrics(m, closures.datasets);
  write_web(m, w);
  write_listeners(m, w.http_listener(), w.grpc_listener());
  if (w.certificate_expiry)
    m.gauge("muster_tls_certificate_expiry_seconds",
            "Expiry of the certificate, in seconds since the Unix epoch.", w.certificate_expiry());
  m.counter("process_cpu_seconds_total", "User and system CPU time in seconds.", p.cpu_seconds);
  m.gauge("process_resident_memory_bytes", "Resident memory.", p.resident_bytes);
  m.gauge("process_open_fds", "Open file descriptors.", p.open_files);
  m.gauge("process_max_fds", "Maximum number of open file descriptors.", p.open_files_max);
  m.gauge("process_start_time_seconds",
          "Start time of the process, in seconds since the Unix epoch.", p.start_time_s);
  return m.take();
}

}  // namespace muster::web
