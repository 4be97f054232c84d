#include "web/metrics/counters.hpp"

#include <algorithm>
#include <numeric>

#include "server/core/queries/function_queries.hpp"
#include "server/history/closures.hpp"

namespace muster::web {

namespace {

// One additional entry contains the sum of the remaining names.
constexpr std::size_t shown_max = 200;

void durable_members(member_list const& m, server::coordination_hub::durability const& d,
                     std::uint64_t blob_bytes) {
  m("data_dir", d.store.directory);
  m("epoch", d.store.epoch, "number of times that a server was started with this data");
  m("restored_in_ms", d.store.restored_in);
  m("changes", d.written);
  m("changes_waiting", d.written - d.durable, "changes that are not on disk yet");
  m("waiting_bytes", d.store.waiting_bytes);
  m("disk_bytes", d.store.disk_bytes, "bytes of the state on disk, without blobs and history");
  m("blob_bytes", blob_bytes, "bytes of blob files on disk");
  m.when(d.store.free_bytes.has_value())("free_bytes", d.store.free_bytes.value_or(0),
                                         "free bytes on the disk or in etcd's quota");
  auto const full = m.when(d.full());
  full("full_since_ms", d.store.full_since,
       "time since which the disk has been full; new durable work is refused until there is room");
  full("full", d.store.full, "the full disk and its free space");
  m.json(
      "store",
      [] {
        return schema::one_of({"rocksdb", "etcd"});
      },
      [&d](json_out& out) { out.string(d.store.kind); }, "kind of store");
  m.some("store_version", d.store.version, "etcd: the version of the member that this server uses");
  m.some("leader", d.store.leader, "etcd: address of the leader");
  m.when(!d.store.leader.empty())("lease_left_ms", d.store.lease_left,
                                  "etcd: remaining lease of this server");
  auto const kept = d.store.history.value_or(server::store_view::kept_history{});
  auto const history = m.when(d.store.history.has_value());
  history("history_since_ms", kept.since, "start of the stored history; 0 if there is none");
  history("history_bytes", kept.bytes, "bytes of history on disk");
  history("history_dropped", kept.dropped,
          "records that are missing, because there was no room, a write failed, or they are "
          "unreadable");
  history("history_unreadable", kept.unreadable, "history records on disk that cannot be read");
  m.when(d.failed())("failed_since_ms", d.failed_since);
  m.when(d.failed())("failure", d.failure);
}

void stalled_members(member_list const& m, core::stalled_closure const& s) {
  m("closure", s.closure);
  m("function", s.function);
  m("worker", s.worker);
  m("since_ms", s.since);
}

void exclusive_members(member_list const& m, core::exclusive_closure const& a) {
  m("closure", a.closure);
  m.some("job", a.job, "missing if the closure recomputes a lost value");
  m("function", a.function);
  m("workers_lost", a.workers_lost);
  m.some("worker", a.worker,
         "the worker that runs the closure; missing while the closure is waiting for a worker");
  m("since_ms", a.since);
}

void task_members(member_list const& m, core::overview_view const& o) {
  m("connected", o.tasks_connected);
  m("late", o.tasks_late);
  m("error", o.tasks_error);
  m("disconnected", o.tasks_disconnected);
  m("total", o.tasks_connected + o.tasks_late + o.tasks_error + o.tasks_disconnected);
}

void closure_members(member_list const& m, core::overview_view const& o) {
  m("blocked", o.closures.blocked);
  m("queued", o.closures.queued);
  m("running", o.closures.running);
  m("succeeded", o.closures.succeeded);
  m("failed", o.closures.failed);
  m("cancelled", o.closures.cancelled);
  m("put_back", o.requeued);
}

void value_members(member_list const& m, core::overview_view const& o) {
  m("not_ready", o.values_not_ready);
  m("ready", o.values_ready);
  m("aborted", o.values_aborted);
  m("held", o.values_held);
  m("errors", o.values_ready - std::min(o.values_ready, o.closures.succeeded),
    "ready values that are errors");
  m("held_bytes", o.values_held_bytes, "bytes of the values, including their blobs");
}

void heartbeat_members(member_list const& m, core::overview_view const& o) {
  m("p50", o.heartbeat_p50);
  m("p99", o.heartbeat_p99);
  m("max", o.heartbeat_max);
}

void job_members(member_list const& m, core::overview_view const& o) {
  m("queued", o.jobs_queued);
  m("running", o.jobs_running);
  m("succeeded", o.jobs_succeeded);
  m("failed", o.jobs_failed);
  m("cancelled", o.jobs_cancelled);
}

std::uint64_t unfinished(core::shown_function_view const& f) {
  return f.waiting + f.queued + f.running;
}

std::uint64_t all_of(core::shown_function_view const& f) {
  return unfinished(f) + f.succeeded + f.failed + f.cancelled;
}

void shown_members(member_list const& m, core::shown_function_view const& f) {
  m("name", f.name);
  function_counts(m, f);
  m("cancelled", f.cancelled);
}

std::vector<core::shown_function_view> busiest(std::vector<core::shown_function_view> const& all) {
  std::vector<std::size_t> places(all.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::stable_sort(places.begin(), places.end(), [&all](std::size_t a, std::size_t b) {
    return std::pair(unfinished(all[a]), all_of(all[a])) >
           std::pair(unfinished(all[b]), all_of(all[b]));
  });
  places.resize(std::min(places.size(), functions_shown));
  std::sort(places.begin(), places.end());
  std::vector<core::shown_function_view> told;
  for (auto const n : places) told.push_back(all[n]);
  return told;
}

void progress_members(member_list const& m, std::vector<core::shown_function_view> const& all) {
  auto const told = busiest(all);
  m.list("functions", told, shown_members);
  m("more", all.size() - told.size(), "further closures that are not listed");
}

}  // namespace

void add_shown(std::vector<core::shown_function_view> of_one, std::size_t most,
               std::vector<core::shown_function_view>& into) {
  for (auto& f : of_one) {
    auto at = std::find_if(into.begin(), into.end(),
                           [&f](auto const& known) { return known.name == f.name; });
    if (at == into.end() && into.size() >= most) {
      if (into.size() == most) into.push_back({std::string(other_functions)});
      at = into.end() - 1;
    }
    if (at == into.end()) {
      into.push_back(std::move(f));
      continue;
    }
    at->waiting += f.waiting, at->queued += f.queued, at->running += f.running;
    at->succeeded += f.succeeded, at->failed += f.failed, at->cancelled += f.cancelled;
  }
}

counters collect_counters(server::hub& h) {
  counters c;
  c.now = h.now();
  c.overview = history::overview(h.past(), h.state(), c.now);
  c.functions = h.state().functions().all();
  add_shown(h.state().functions().shown(), shown_max, c.shown);
  std::erase_if(c.shown, [](auto const& f) { return all_of(f) == 0; });
  if (c.functions.size() > functions_shown) c.functions.resize(functions_shown);
  return c;
}

counters collect_all_counters(server::pools& all, server::coordination_hub const& clusters,
                              server::blob_store const& blobs, server::cluster_scope const& scope) {
  counters c;
  if (scope.sees(std::string_view())) c = collect_counters(all.main());
  c.now = all.main().now();
  c.durable = clusters.durable();
  c.blob_bytes = blobs.counts().bytes;
  all.for_each([&](server::hub& h) {
    if (&h == &all.main() || !scope.sees(h.cluster())) return;
    auto const of_it = collect_counters(h);
    add_shown(of_it.shown, shown_max, c.shown);
    c.overview += of_it.overview;
    c.functions.insert(c.functions.end(), of_it.functions.begin(), of_it.functions.end());
  });
  if (c.functions.size() > functions_shown) c.functions.resize(functions_shown);
  return c;
}

void members(member_list const& m, counters const& c) {
  auto const& o = c.overview;
  auto const part = [&](std::string_view name, auto const& say) {
    m.object(name, [&](member_list const& of) { say(of, o); });
  };
  m("uptime_ms", c.uptime);
  part("tasks", task_members);
  part("closures", closure_members);
  m.object("rates", [&c](member_list const& of) {
    of("finished", c.finished_per_s,
       "closures that ended per second, including failed and cancelled closures");
    of("failed", c.failed_per_s, "closures that failed per second");
  });
  part("remote_values", value_members);
  part("heartbeat_age_ms", heartbeat_members);
  part("jobs", job_members);
  m("sessions", o.sessions);
  m.object("stalled", [&o](member_list const& of) {
    of("since_ms", o.quiet_since);
    of.list("oldest", o.oldest_running, stalled_members);
  });
  auto const durable = [&c](member_list const& of, server::coordination_hub::durability const& d) {
    durable_members(of, d, c.blob_bytes);
  };
  m.some_object("durable", c.durable, durable, "missing if all data is only in memory");
  m.object(
      "alone",
      [&o](member_list const& of) {
        of("count", o.closures_exclusive);
        of.list("oldest", o.exclusive, exclusive_members);
      },
      "closures that repeatedly lost their worker and run alone on the next worker; at most 20 are "
      "listed");
  m.list("functions", c.functions, function_members);
  m.object(
      "progress", [&c](member_list const& of) { progress_members(of, c.shown); },
      "closures by display name; only the busiest names");
}

}  // namespace muster::web
