// What waits for workers that are not there: gangs, and closures that no connected worker can run.
#include "web/rest/answers.hpp"
#include "web/rest/cluster_access.hpp"

namespace muster::web {

namespace {

coro::task<response> list_gangs(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto work = [](server::hub& h) { return h.state().gangs(); };
  return look(context, in_pool_named(query, std::move(work)));
}

coro::task<response> list_wishes(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto work = [](server::hub& h) { return h.state().wishes(); };
  return look(context, in_pool_named(query, std::move(work)));
}

}  // namespace

void add_waiting_routes(std::vector<route>& to) {
  to.push_back(get("/api/v1/gangs", list_gangs, "listGangs", "Gangs that wait, the oldest first")
                   .with({cluster_parameter})
                   .tells("Gangs", schema_of<core::gangs_view>)
                   .also(404, "No such cluster"));
  to.push_back(get("/api/v1/wishes", list_wishes, "listWishes",
                   "What queued closures ask for and no connected worker has")
                   .with({cluster_parameter})
                   .tells("Wishes", schema_of<core::wishes_view>)
                   .also(404, "No such cluster"));
}

}  // namespace muster::web
