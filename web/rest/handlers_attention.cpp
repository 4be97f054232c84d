// What needs a person, as the page shows it.
#include "web/attention/collect.hpp"
#include "web/rest/access.hpp"
#include "web/rest/answers.hpp"

namespace muster::web {

namespace {

coro::task<response> list_attention(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const cluster = query.text("cluster");
  auto collecting = cluster.empty() ? collect_attention(context.engine, scope_of(context, ex.req))
                                    : collect_attention(context.engine, std::string(cluster));
  auto const facts = co_await std::move(collecting);
  if (!facts) co_return problem_response(facts.error());
  co_return page_response("items", {}, [&facts](json_out& out) {
    for (auto const& item : attention(*facts)) write(out, item);
  });
}

schema::json attention_schema() {
  return schema::object({{"items", schema::array(schema_of<attention_item>())}});
}

}  // namespace

void add_attention_routes(std::vector<route>& to) {
  to.push_back(get("/api/v1/attention", list_attention, "listAttention",
                   "What needs a person: one item for one cause, gone when it is over")
                   .with({{"cluster", query_kind::text,
                           "of this cluster alone; without it of all that the caller may look at"}})
                   .tells("Attention", attention_schema)
                   .also(404, "No such cluster"));
}

}  // namespace muster::web
