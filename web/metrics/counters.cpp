// The server's numbers, copied on the engine thread and written as JSON.
#include "web/metrics/counters.hpp"

#include "server/hub/id_text.hpp"

namespace muster::web {

namespace {
std::int64_t ms(core::duration d) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
}

void write_functions(json_out& out, counters const& c) {
  out.key("functions").begin_array();
  for (auto const& f : c.functions) {
    auto const object = out.object();
    out.key("name").string(f.name);
    out.key("workers").number(f.workers);
    out.key("ever_had").boolean(f.ever_had);
    out.key("waiting").number(f.waiting);
    out.key("queued").number(f.queued);
    out.key("running").number(f.running);
    out.key("succeeded").number(f.succeeded);
    out.key("failed").number(f.failed);
  }
  out.end_array();
}

void write_durable(json_out& out, server::coordination_hub::durability const& d) {
  out.key("durable").begin_object();
  out.key("data_dir").string(d.store.directory);
  out.key("epoch").number(d.store.epoch);
  out.key("restored_in_ms").number(ms(d.store.restored_in));
  out.key("changes").number(d.written);
  out.key("changes_waiting").number(d.written - d.durable);
  out.key("waiting_bytes").number(d.store.waiting_bytes);
  out.key("disk_bytes").number(d.store.disk_bytes);
  out.key("store").string(d.store.kind);
  if (!d.store.leader.empty()) {
    out.key("leader").string(d.store.leader);
    out.key("lease_left_ms").number(ms(d.store.lease_left));
  }
  if (d.failed()) {
    out.key("failed_since_ms").number(core::to_unix_ms(d.failed_since));
    out.key("failure").string(d.failure);
  }
  out.end_object();
}

void write_alone(json_out& out, core::overview_view const& o) {
  out.key("alone").begin_object();
  out.key("count").number(o.closures_alone);
  out.key("oldest").begin_array();
  for (auto const& a : o.alone) {
    auto const entry = out.object();
    out.key("closure").string(core::text(a.closure));
    if (a.job != core::session_id{}) out.key("job").string(core::text(a.job));
    out.key("function").string(a.function);
    out.key("workers_lost").number(a.workers_lost);
    if (!a.worker.empty()) out.key("worker").string(a.worker);
    out.key("since_ms").number(core::to_unix_ms(a.since));
  }
  out.end_array();
  out.end_object();
}
}  // namespace

counters collect_counters(server::hub& h) {
  counters c;
  c.now = h.now();
  c.overview = h.state().overview(c.now);
  c.functions = h.state().functions();
  if (c.functions.size() > functions_shown) c.functions.resize(functions_shown);
  return c;
}

// The functions shown are those of the main cluster, then those of the others.
counters collect_all_counters(server::pools& all, server::coordination_hub const& clusters,
                              server::cluster_scope const& scope) {
  counters c;
  if (scope.sees(std::string_view())) c = collect_counters(all.main());
  c.now = all.main().now();
  c.durable = clusters.durable();
  all.for_each([&](server::hub& h) {
    if (&h == &all.main() || !scope.sees(h.cluster())) return;
    auto const of_it = collect_counters(h);
    c.overview += of_it.overview;
    c.functions.insert(c.functions.end(), of_it.functions.begin(), of_it.functions.end());
  });
  if (c.functions.size() > functions_shown) c.functions.resize(functions_shown);
  return c;
}

void write(json_out& out, counters const& c) {
  auto const& o = c.overview;
  auto const object = out.object();
  out.key("uptime_ms").number(c.uptime.count());
  out.key("tasks").begin_object();
  out.key("connected").number(o.tasks_connected);
  out.key("late").number(o.tasks_late);
  out.key("error").number(o.tasks_error);
  out.key("disconnected").number(o.tasks_disconnected);
  out.key("total").number(o.tasks_connected + o.tasks_late + o.tasks_error + o.tasks_disconnected);
  out.end_object();
  out.key("closures").begin_object();
  out.key("blocked").number(o.closures.blocked);
  out.key("queued").number(o.closures.queued);
  out.key("running").number(o.closures.running);
  out.key("succeeded").number(o.closures.succeeded);
  out.key("failed").number(o.closures.failed);
  out.key("cancelled").number(o.closures.cancelled);
  out.key("put_back").number(o.put_back);
  out.end_object();
  out.key("rates").begin_object();
  out.key("finished").number(c.finished_per_s);
  out.key("failed").number(c.failed_per_s);
  out.end_object();
  out.key("remote_values").begin_object();
  out.key("not_ready").number(o.values_not_ready);
  out.key("ready").number(o.values_ready);
  out.key("aborted").number(o.values_aborted);
  out.key("held").number(o.values_held);
  out.key("held_bytes").number(o.values_held_bytes);
  out.end_object();
  out.key("heartbeat_age_ms").begin_object();
  out.key("p50").number(ms(o.heartbeat_p50));
  out.key("p99").number(ms(o.heartbeat_p99));
  out.key("max").number(ms(o.heartbeat_max));
  out.end_object();
  out.key("jobs").begin_object();
  out.key("running").number(o.jobs_running);
  out.key("succeeded").number(o.jobs_succeeded);
  out.key("failed").number(o.jobs_failed);
  out.key("cancelled").number(o.jobs_cancelled);
  out.end_object();
  out.key("sessions").number(o.sessions);
  out.key("stalled").begin_object();
  out.key("since_ms").number(core::to_unix_ms(o.quiet_since));
  out.key("oldest").begin_array();
  for (auto const& s : o.oldest_running) {
    auto const entry = out.object();
    out.key("closure").string(core::text(s.closure));
    out.key("function").string(s.function);
    out.key("worker").string(s.worker);
    out.key("since_ms").number(core::to_unix_ms(s.since));
  }
  out.end_array();
  out.end_object();
  if (c.durable) write_durable(out, *c.durable);
  write_alone(out, o);
  write_functions(out, c);
}

}  // namespace muster::web
