#include "server/hub/access/cluster_scope.hpp"
#include "web/json/machine_json.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/caller_check.hpp"
#include "web/rest/machines/host_listing.hpp"

namespace muster::web {
namespace {

template <class T>
void known(member_list const& m, std::string_view name, std::optional<T> const& value,
           std::string_view words) {
  m.when(value.has_value())(name, value.value_or(T{}), words);
}

std::optional<double> ratio_of(history::slowness_view const& s) {
  return s.ratio > 0 ? std::optional(s.ratio) : std::nullopt;
}

void host_worker_members(member_list const& m, worker_on_host const& w) {
  auto const& t = w.task;
  m("cluster", t.cluster);
  m("task", t.job + ":" + std::to_string(t.index), "name of the worker, such as worker:3");
  m("state", t.state);
  m("since_ms", t.since);
  m("draining", t.draining);
  m("cordoned", t.cordoned);
  m("away", t.away);
  m("pid", t.pid);
  known(m, "process_memory_bytes", w.process_memory,
        "memory of the worker's process; present only while memory is short");
  m("slots", t.slots);
  m("running", t.running);
  m("waiting_for_values", t.waiting);
  m("sent_ahead", t.prefetched, "closures that wait on the worker for a free slot");
  m("finished", t.finished,
    "closures that ended on this worker, including failed and cancelled closures");
  m("failed", t.failed, "finished closures that failed");
  m("failed_last_hour", w.failed_last_hour,
    "executions that ended in the last hour and did not succeed, including cancelled ones");
  known(m, "value_bytes", w.value_bytes,
        "bytes of the values in the worker's memory; missing if workers of several clusters have "
        "this name");
  known(m, "slowness", ratio_of(w.slowness),
        "mean duration divided by the median of the workers of its cluster, as the median over its "
        "functions; executions of the last 10 minutes that succeeded. Missing if it cannot be "
        "compared: a function counts if two workers have run it three times and its median is at "
        "least 1 ms");
  m.when(w.slowness.since != core::never)(
      "slow_since_ms", w.slowness.since,
      "the minute since which the worker has been slow: its ratio is at least 1.5");
  m("error", t.error);
}

void host_members(member_list const& m, host_view const& h) {
  m("host", h.host, "name of the host with which its workers registered");
  m.some_object(
      "machine", h.seen, machine_members,
      "figures that a worker on the host reported within 20 s; missing if there are none");
  m.list("workers", h.workers, host_worker_members, "ordered by cluster, role and index");
  m.some("more_workers", h.more, "number of workers beyond the 1,000 that a page lists");
}

struct as_host_page {
  response operator()(host_page const& page) const { return object_response(members, page); }
  static void members(member_list const& m, host_page const& page) {
    m.list("hosts", page.hosts, host_members, "ordered by name");
    m.some("next_page_token", next_token('h', page.next));
  }
};

coro::task<response> list_hosts_handler(web_context& context, exchange& ex) {
  query_check query(ex.req);
  host_query q;
  q.host = query.text("host");
  q.task = query.text("task");
  q.limit = query.limit();
  q.after = query.page_token('h');
  auto work = [q, name = std::string(query.text("cluster")), scope = scope_of(context, ex.req)](
                  engine_services& services) -> muster::result<host_page> {
    std::vector<server::hub*> shown;
    if (!name.empty()) {
      auto const pool = services.pools.named(name);
      if (!pool) return pool.error();
      shown.push_back(*pool);
    } else {
      services.pools.for_each([&](server::hub& h) {
        if (scope->sees(h.cluster())) shown.push_back(&h);
      });
    }
    return list_hosts(services, shown, q);
  };
  return respond_with(context, std::move(work), as_host_page{});
}

}  // namespace

void add_host_routes(std::vector<route>& to) {
  to.push_back(get("/api/v1/hosts", list_hosts_handler, "listHosts",
                   "List the hosts of workers, with their figures and workers")
                   .with({{"cluster", query_kind::text, "only workers of this cluster"},
                          {"host", query_kind::text, "only the host with this name"},
                          {"task", query_kind::text, "only this worker, such as worker:3"},
                          limit_parameter,
                          page_token_parameter("h")})
                   .responds_with("HostPage", schema_of_members<as_host_page::members>)
                   .also(404, "No such cluster"));
}

}  // namespace muster::web
