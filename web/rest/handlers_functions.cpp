// Functions that workers brought.
#include "web/http/query.hpp"
#include "web/json/views_json.hpp"
#include "web/rest/handlers.hpp"

namespace muster::web {

namespace {

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

void add_function_routes(std::vector<route>& to) {
  to.push_back({"GET",
                "/api/v1/functions",
                list_functions,
                "listFunctions",
                "Functions that were named so far",
                200,
                "application/json",
                body_kind::none,
                {limit_parameter, page_token_parameter}});
}

}  // namespace muster::web
