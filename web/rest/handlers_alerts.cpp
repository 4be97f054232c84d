#include "web/alerts/collect.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/caller_check.hpp"

namespace muster::web {

namespace {

coro::task<response> list_alerts(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const cluster = query.text("cluster");
  auto collecting = cluster.empty() ? collect_alerts(context.engine, scope_of(context, ex.req))
                                    : collect_alerts(context.engine, std::string(cluster));
  auto const facts = co_await std::move(collecting);
  if (!facts) co_return problem_response(facts.error());
  co_return page_response("items", {}, [&facts](json_out& out) {
    for (auto const& item : alerts_of(*facts)) write(out, item);
  });
}

schema::json alerts_schema() {
  return schema::object({{"items", schema::array(schema_of<alert>())}});
}

}  // namespace

void add_alert_routes(std::vector<route>& to) {
  to.push_back(
      get("/api/v1/attention", list_alerts, "listAttention",
          "List the active alerts, one for each cause")
          .with({{"cluster", query_kind::text,
                  "only alerts of this cluster; default: all clusters that the caller can view"}})
          .responds_with("Attention", alerts_schema)
          .also(404, "No such cluster"));
}

}  // namespace muster::web
