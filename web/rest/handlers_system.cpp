#include "base/text.hpp"
#include "server/hub/blob_store.hpp"
#include "server/hub/coordination_hub.hpp"
#include "web/live/websocket_hub.hpp"
#include "web/metrics/prometheus.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/caller_check.hpp"
#include "web/rest/cluster_access.hpp"
#include "web/rest/stream_query.hpp"

namespace muster::web {

namespace {

coro::task<muster::result<counters>> current_counters(web_context& context,
                                                      server::shared_scope scope) {
  auto work = [scope](engine_services& services) {
    return collect_all_counters(services.pools, services.coordination, services.blobs, *scope);
  };
  auto c = co_await context.engine.on_engine(std::move(work));
  if (c) context.sockets.complete(*c, *scope);
  co_return c;
}

coro::task<response> server_overview(web_context& context, server::shared_scope scope) {
  auto const c = co_await current_counters(context, std::move(scope));
  if (!c) co_return problem_response(c.error());
  co_return json_response(to_text(*c));
}

// Uptime and rates exist only for the whole server.
coro::task<response> get_overview(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const cluster = query.text("cluster");
  if (cluster.empty()) return server_overview(context, scope_of(context, ex.req));
  return respond_with(context, in_pool(std::string(cluster), collect_counters));
}

measured_coordination measure_coordination(engine_services& services) {
  auto const& all = services.coordination.state();
  measured_coordination m{.durable = services.coordination.durable()};
  for (auto const id : all.ids()) {
    if (m.clusters.size() == clusters_measured) break;
    m.clusters.push_back(all.view(id, services.coordination.now()));
  }
  return m;
}

void version_members(member_list const& m, std::string const& version, std::uint64_t boot) {
  m.word("name", "muster", {"muster"});
  m("version", version);
  m.json(
      "boot", [] { return schema::id(""); }, [boot](json_out& out) { out.string(hex16(boot)); });
  m.word("api", "v1", {"v1"});
  m.word("websocket", "muster.v1", {"muster.v1"});
}

coro::task<response> get_version(web_context& context, exchange&) {
  return answered(object_response(version_members, context.options.version, context.options.boot));
}

coro::task<response> get_livez(web_context&, exchange&) {
  co_return text_response("ok\n");
}

// The server is ready unless it is stopping or the engine does not reply. If the disk is full or
// has failed, reads and non-durable work continue: the status stays 200, and further lines report
// the problem.
coro::task<response> get_readyz(web_context& context, exchange& ex) {
  if (ex.stopping())
    co_return problem_response(muster::status{muster::code::unavailable, "the server is stopping"});
  auto work = [](engine_services& services) -> muster::result<std::string> {
    std::string text = "ok\n";
    auto const durable = services.coordination.durable();
    if (durable && durable->failed())
      text += "journal-fails: " + durable->failure + "\n";
    else if (durable && durable->full())
      text += "disk-full: " + durable->store.full + "\n";
    return text;
  };
  auto const text = co_await context.engine.on_engine(std::move(work));
  if (!text) co_return problem_response(text.error());
  co_return text_response(*text);
}

}  // namespace

coro::task<response> get_metrics(web_context& context, exchange&) {
  auto const c = co_await current_counters(context, std::make_shared<server::cluster_scope>());
  if (!c) co_return problem_response(c.error());
  auto const coordination = co_await context.engine.on_engine(measure_coordination);
  if (!coordination) co_return problem_response(coordination.error());
  auto measure = [](engine_services& services) { return measure_closures(services.pools); };
  auto const closures = co_await context.engine.on_engine(std::move(measure));
  if (!closures) co_return problem_response(closures.error());
  response r;
  r.content_type = "text/plain; version=0.0.4; charset=utf-8";
  auto count = [](engine_services& services) { return services.blobs.figures(); };
  auto const blobs = co_await context.engine.on_engine(std::move(count));
  if (!blobs) co_return problem_response(blobs.error());
  r.body = prometheus_text(*c, *closures, *coordination, context.metrics, read_process_facts()) +
           blob_metrics(*blobs) + token_metrics(context) + load_metrics(context);
  co_return r;
}

void add_system_routes(std::vector<route>& to) {
  to.push_back(get("/api/v1/overview", get_overview, "getOverview", "Get key figures of the server")
                   .with({{"cluster", query_kind::text,
                           "only figures of this cluster, without the server's uptime and rates"}})
                   .responds_with("Overview", schema_of<counters>)
                   .also(404, "No such cluster"));
  to.push_back(get("/api/v1/version", get_version, "getVersion", "Get the server version")
                   .responds_with("Version", schema_of_members<version_members>));
  to.push_back(get("/api/v1/openapi.json", get_openapi, "getOpenapiV1", "Get this description")
                   .responds_with("OpenApi"));
  to.push_back(get("/openapi.json", get_openapi, "getOpenapi", "Get this description")
                   .responds_with("OpenApi"));
  auto const as_text = [&to](route r) {
    to.push_back(std::move(r.as({"text/plain"}).responds_with("Text")));
  };
  as_text(get("/livez", get_livez, "livez", "Check that the process responds"));
  constexpr std::string_view not_ready =
      "The server is loading its data, is not the leader, is stopping, or did not answer in time";
  as_text(get("/readyz", get_readyz, "readyz", "Check that the server accepts work")
              .also(503, not_ready));
  as_text(
      get("/healthz", get_readyz, "healthz", "Check that the server accepts work; same as readyz")
          .also(503, not_ready));
  as_text(get("/metrics", get_metrics, "metrics", "Get Prometheus metrics"));
}

std::vector<route> all_routes() {
  std::vector<route> all;
  add_system_routes(all);
  add_server_health_routes(all);
  add_submission_routes(all);
  add_job_routes(all);
  add_closure_routes(all);
  add_value_list_routes(all);  // must precede "{id}"
  add_value_routes(all);
  add_graph_routes(all);
  add_per_worker_routes(all);
  add_program_routes(all);
  add_work_routes(all);
  add_stack_routes(all);
  add_object_routes(all);
  add_dataset_routes(all);
  add_cluster_routes(all);
  add_task_routes(all);
  add_machine_routes(all);
  add_host_routes(all);
  add_barrier_routes(all);
  add_key_value_routes(all);
  add_torch_routes(all);
  add_event_routes(all);
  add_alert_routes(all);
  add_log_routes(all);
  add_function_routes(all);
  add_queue_routes(all);
  add_stream_routes(all);
  add_past_routes(all);
  add_timeline_routes(all);
  add_duration_routes(all);
  add_log_search_routes(all);
  add_blob_routes(all);
  add_token_routes(all);
  set_permissions(all);
  return all;
}

}  // namespace muster::web
