#include "server/core/queries/closure_queries.hpp"
#include "server/core/queries/function_queries.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/cluster_access.hpp"

namespace muster::web {

namespace {

coro::task<response> list_functions(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = query.limit();
  auto const from = static_cast<std::size_t>(query.page_token('f'));
  auto work = [from, limit](server::hub& h) {
    auto all = h.state().functions().all();
    core::page<core::function_view, std::size_t> page;
    auto const begin = std::min(from, all.size());
    auto const end = std::min(begin + limit, all.size());
    for (auto i = begin; i < end; ++i) page.items.push_back(std::move(all[i]));
    if (end < all.size()) page.next = end;
    return page;
  };
  return respond_with(context, in_pool_named(ex, std::move(work)), as_page{"functions", 'f'});
}

coro::task<response> list_gangs(web_context& context, exchange& ex) {
  return respond_with(
      context, in_pool_named(ex, [](server::hub& h) { return h.state().closures().gangs(); }));
}

coro::task<response> list_unmet_demand(web_context& context, exchange& ex) {
  return respond_with(context, in_pool_named(ex, [](server::hub& h) {
                        return h.state().closures().unmet_demand();
                      }));
}

}  // namespace

void add_function_routes(std::vector<route>& to) {
  to.push_back(
      get("/api/v1/functions", list_functions, "listFunctions",
          "List the functions that workers have declared or calls have used")
          .with({cluster_parameter, limit_parameter, page_token_parameter("f")})
          .responds_with("FunctionPage", [] { return page_schema("functions", "FunctionView"); })
          .also(404, "No such cluster"));
  to.push_back(get("/api/v1/gangs", list_gangs, "listGangs", "List waiting gangs, oldest first")
                   .with({cluster_parameter})
                   .responds_with("Gangs", schema_of<core::gangs_view>)
                   .also(404, "No such cluster"));
  to.push_back(get("/api/v1/wishes", list_unmet_demand, "listWishes",
                   "List the resources that queued closures need but no connected worker has")
                   .with({cluster_parameter})
                   .responds_with("Wishes", schema_of<core::unmet_demand_view>)
                   .also(404, "No such cluster"));
}

}  // namespace muster::web
