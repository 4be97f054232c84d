// Clusters, and the functions that workers brought.
#include "web/handlers.hpp"
#include "web/query.hpp"
#include "web/text.hpp"
#include "web/views_json.hpp"

namespace muster::web {

namespace {

constexpr std::string_view the_cluster = "default";

struct cluster_facts {
  core::overview_view overview;
  core::duration heartbeat_timeout{};
};

void write(json_out& out, cluster_facts const& c) {
  auto const& o = c.overview;
  auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(c.heartbeat_timeout);
  out.begin_object();
  out.key("name").string(the_cluster);
  out.key("heartbeat_timeout_ms").number(ms.count());
  out.key("tasks").begin_object();
  out.key("connected").number(o.tasks_connected);
  out.key("late").number(o.tasks_late);
  out.key("error").number(o.tasks_error);
  out.key("disconnected").number(o.tasks_disconnected);
  out.key("total").number(o.tasks_connected + o.tasks_late + o.tasks_error + o.tasks_disconnected);
  out.end_object().end_object();
}

cluster_facts facts_of(server::hub& h) {
  cluster_facts f;
  f.overview = h.state().overview(h.now());
  f.heartbeat_timeout = h.state().configuration().heartbeat_timeout;
  return f;
}

coro::task<response> list_clusters(web_context& context, exchange&) {
  auto asking = context.engine.on_engine(facts_of);
  auto const facts = co_await std::move(asking);
  if (!facts) co_return problem_response(facts.error());
  std::string text;
  json_out out(text);
  out.begin_object().key("clusters").begin_array();
  write(out, *facts);
  out.end_array().end_object();
  text += '\n';
  co_return json_response(std::move(text));
}

coro::task<response> get_cluster(web_context& context, exchange& ex) {
  if (auto p = check_cluster(ex.req)) co_return problem_response(*p);
  auto asking = context.engine.on_engine(facts_of);
  auto const facts = co_await std::move(asking);
  if (!facts) co_return problem_response(facts.error());
  std::string text;
  json_out out(text);
  write(out, *facts);
  text += '\n';
  co_return json_response(std::move(text));
}

coro::task<response> list_functions(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = query.limit();
  auto const from = static_cast<std::size_t>(query.page_token('f'));
  if (query.failed()) co_return problem_response(query.failure());
  auto work = [](server::hub& h) { return h.state().functions(); };
  auto asking = context.engine.on_engine(std::move(work));
  auto const all = co_await std::move(asking);
  if (!all) co_return problem_response(all.error());
  std::string text;
  json_out out(text);
  out.begin_object().key("functions").begin_array();
  auto i = from;
  for (; i < all->size() && i - from < limit; ++i) write(out, (*all)[i]);
  out.end_array();
  if (i < all->size()) out.key("next_page_token").string(page_token('f', i));
  out.end_object();
  text += '\n';
  co_return json_response(std::move(text));
}

}  // namespace

std::optional<problem> check_cluster(request const& r) {
  if (r.capture("cluster") == the_cluster) return {};
  return unknown_id("cluster", r.capture("cluster"));
}

void add_cluster_routes(std::vector<route>& to) {
  query_parameter const limit{"limit", query_kind::number,
                              "entries of the page, 100 unless told, 1000 at most"};
  query_parameter const token{"page_token", query_kind::text, "next_page_token of the page before"};
  to.push_back({"GET", "/api/v1/clusters", list_clusters, "listClusters", "Clusters"});
  to.push_back({"GET", "/api/v1/clusters/{cluster}", get_cluster, "getCluster", "One cluster"});
  to.push_back({"GET",
                "/api/v1/functions",
                list_functions,
                "listFunctions",
                "Functions that were named so far",
                200,
                "application/json",
                body_kind::none,
                {limit, token}});
}

}  // namespace muster::web
