// Functions that workers brought.
#include "web/rest/answers.hpp"
#include "web/rest/cluster_access.hpp"

namespace muster::web {

namespace {

coro::task<response> list_functions(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = query.limit();
  auto const from = static_cast<std::size_t>(query.page_token('f'));
  auto work = [from, limit](server::hub& h) {
    auto all = h.state().functions();
    core::page<core::function_view, std::size_t> page;
    auto const begin = std::min(from, all.size());
    auto const end = std::min(begin + limit, all.size());
    for (auto i = begin; i < end; ++i) page.items.push_back(std::move(all[i]));
    if (end < all.size()) page.next = end;
    return page;
  };
  return look(context, in_pool_named(query, std::move(work)), as_page{"functions", 'f'});
}

}  // namespace

void add_function_routes(std::vector<route>& to) {
  to.push_back(
      get("/api/v1/functions", list_functions, "listFunctions", "Functions that were named so far")
          .with({cluster_parameter, limit_parameter, page_token_parameter("f")})
          .tells("FunctionPage", [] { return page_schema("functions", "FunctionView"); })
          .also(404, "No such cluster"));
}

}  // namespace muster::web
