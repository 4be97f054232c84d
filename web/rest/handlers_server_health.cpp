// GET /api/v1/server/health, and its figures in /metrics. Probes on the web thread measure the
// engine thread, so that a blocked engine does not hide that it is blocked.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <thread>

#include "base/process/machine/control_group.hpp"
#include "server/disk/sync_times.hpp"
#include "web/live/websocket_hub.hpp"
#include "web/metrics/metric_text.hpp"
#include "web/metrics/prometheus.hpp"
#include "web/rest/answers.hpp"

namespace muster::web {

namespace {

using durability = server::coordination_hub::durability;

// An engine that does not answer within this time is reported as such.
constexpr std::chrono::milliseconds engine_wait_max{1000};

/// Resources that this process can use; 0 if unknown.
struct host_resources {
  std::uint64_t memory_bytes = 0;
  double cores = 0;
};

struct health_view {
  std::string version;
  std::chrono::milliseconds uptime{};
  server_load::figures load{};
  process_facts process{};
  host_resources host{};
  std::optional<counters> engine{};  // not set if the engine does not respond
};

host_resources read_host() {
  control_group const group("");
  auto const pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGESIZE);
  bool const known = pages > 0 && page_bytes > 0;
  auto const bytes =
      known ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes) : 0;
  double const cores = std::thread::hardware_concurrency();
  return {std::min(bytes, group.memory_limit().value_or(bytes)),
          std::min(cores, group.cpu_limit().value_or(cores))};
}

// The limits of the process do not change, so they are read once.
host_resources const& own_host() {
  static host_resources const host = read_host();
  return host;
}

std::uint64_t whole_number(double n) {
  return static_cast<std::uint64_t>(std::llround(n));
}

struct time_names {
  std::string_view p50, p99, longest;
};

void recent_members(member_list const& m, time_names const& names,
                    duration_meter::recent const& recent) {
  m(names.p50, recent.times.percentile(0.5).count());
  m(names.p99, recent.times.percentile(0.99).count());
  m(names.longest, recent.longest.count());
}

void loop_members(member_list const& m, server_load::figures const& f) {
  m("responding", f.responding,
    "false if a function has waited for the engine thread for at least a second");
  m("lag_now_us", f.lag_now.count(),
    "microseconds that the newest function waited, or has been waiting, for the engine thread");
  recent_members(m, {"lag_p50_us", "lag_p99_us", "lag_max_us"}, f.lag);
}

void process_members(member_list const& m, health_view const& v) {
  m("resident_bytes", whole_number(v.process.resident_bytes));
  m("memory_bytes", v.host.memory_bytes, "memory of the machine or of its control group");
  m("busy_cores", v.load.busy_cores, "mean number of cores that the server used");
  m("cores", v.host.cores, "cores that the server can use");
  m("open_files", whole_number(v.process.open_files));
  m("open_files_max", whole_number(v.process.open_files_max));
}

void queue_members(member_list const& m, counters const& c) {
  m("calls", c.overview.closures.queued, "calls that wait for a worker");
  m("changes", c.durable ? c.durable->written - c.durable->durable : 0,
    "changes that wait for the disk");
}

void disk_members(member_list const& m, durability const& d) {
  auto const recent = server::sync_times().last_minute();
  m("syncs", recent.times.count(), "writes of the last minute; each makes a batch durable");
  recent_members(m, {"sync_p50_us", "sync_p99_us", "sync_max_us"}, recent);
  m("waiting_bytes", d.store.waiting_bytes);
  m.some("full", d.store.full, "the full disk and its free space");
  m.some("failure", d.failure, "why the journal cannot be written");
}

void lost_members(member_list const& m, server::store_view::kept_history const& h) {
  m("bytes", h.bytes);
  m("dropped", h.dropped,
    "records that are missing, because there was no room, a write failed, or they are unreadable");
  m("unreadable", h.unreadable, "records on disk that cannot be read");
}

void health_members(member_list const& m, health_view const& v) {
  m("version", v.version);
  m("uptime_ms", v.uptime);
  m("window_ms", std::chrono::milliseconds(server_load::window),
    "time that percentiles, maxima and means cover; figures in _us are microseconds");
  m.object("engine", [&v](member_list const& of) { loop_members(of, v.load); });
  m.object("process", [&v](member_list const& of) { process_members(of, v); });
  m.some_object("queue", v.engine, queue_members, "missing if the engine does not respond");
  auto const durable = v.engine ? v.engine->durable : std::optional<durability>();
  m.some_object("disk", durable, disk_members,
                "missing if all data is only in memory or the engine does not respond");
  auto const kept =
      durable ? durable->store.history : std::optional<server::store_view::kept_history>();
  m.some_object("history", kept, lost_members,
                "missing if no history is kept or the engine does not respond");
}

coro::task<response> get_server_health(web_context& context, exchange&) {
  health_view v;
  v.version = context.options.version;
  v.load = context.load.read();
  v.process = read_process_facts();
  v.host = own_host();
  counters now;
  now.now = std::chrono::floor<core::duration>(std::chrono::system_clock::now());
  context.sockets.complete(now, server::cluster_scope());
  v.uptime = now.uptime;
  if (v.load.responding) {
    using slot_type = answer_handle<counters>;
    auto collect = [](engine_services& services, slot_type const& slot) {
      slot->send(collect_all_counters(services.pools, services.coordination, services.blobs,
                                      server::cluster_scope()));
    };
    auto const limit = std::min(engine_wait_max, context.options.timeouts.engine);
    auto answer = co_await context.engine.call<counters>(std::move(collect), limit, nullptr);
    v.load.responding = static_cast<bool>(answer);
    if (answer) v.engine = std::move(*answer);
  }
  co_return object_response(health_members, v);
}

std::string decimal(double n) {
  char digits[40];
  return {digits, std::to_chars(digits, digits + sizeof digits, n).ptr};
}

// Writes a histogram with the bounds of the other histograms: whole octaves from 64 µs.
std::string histogram_text(std::string const& name, std::string const& help,
                           duration_counts const& d) {
  constexpr std::size_t first_exported = 4 * duration_counts::an_octave;
  std::string text = "# HELP " + name + " " + help + "\n# TYPE " + name + " histogram\n";
  std::uint64_t up_to = 0;
  for (std::size_t n = 0; n + 1 < duration_counts::buckets; ++n) {
    up_to += d.all[n].count;
    if (n < first_exported || n % duration_counts::an_octave != 0) continue;
    text += name + "_bucket{le=\"" + decimal(seconds(duration_counts::limit(n))) + "\"} " +
            std::to_string(up_to) + "\n";
  }
  auto const count = std::to_string(d.count());
  return text + name + "_bucket{le=\"+Inf\"} " + count + "\n" + name + "_sum " +
         decimal(seconds(d.sum())) + "\n" + name + "_count " + count + "\n";
}

}  // namespace

std::string load_metrics(web_context const& context) {
  return histogram_text("muster_engine_lag_seconds",
                        "Time that a posted function waits for the engine thread, measured every "
                        "100 ms.",
                        context.load.total_lag()) +
         histogram_text("muster_journal_sync_seconds",
                        "Time to make a batch of changes durable: fdatasync of the data directory, "
                        "or a transaction of etcd.",
                        server::sync_times().total());
}

void add_server_health_routes(std::vector<route>& to) {
  to.push_back(get("/api/v1/server/health", get_server_health, "getServerHealth",
                   "Get figures of the server process and its disk")
                   .responds_with("ServerHealth", schema_of_members<health_members>));
}

}  // namespace muster::web
