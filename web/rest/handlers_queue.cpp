#include <algorithm>

#include "server/core/programs/controller.hpp"
#include "server/core/queries/queue_queries.hpp"
#include "web/json/queue_json.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/cluster_access.hpp"

namespace muster::web {

namespace {

// Programs that can start come first, because the server places ranks before it dispatches
// closures. Programs that cannot start are last.
queue_page queue_of(server::hub& h, std::uint64_t from, std::size_t limit) {
  queue_page page;
  auto all = h.state().programs().waiting(h.now());
  auto const cannot =
      std::stable_partition(all.items.begin(), all.items.end(),
                            [](core::waiting_program_view const& p) { return !p.cannot_start; });
  auto const able = static_cast<std::uint64_t>(cannot - all.items.begin());
  page.programs = all.all;
  auto at = from;
  auto const add_programs = [&](std::uint64_t skipped, std::uint64_t end) {
    for (; at - skipped < end && page.rows.size() < limit; ++at) {
      auto& p = all.items[at - skipped];
      auto const place = p.cannot_start ? 0 : at + 1;
      page.rows.push_back({std::move(p), {}, place});
    }
  };
  add_programs(0, able);
  auto const left = limit - page.rows.size();
  page.totals = h.state().queue().list(h.now(), at - std::min(at, able), left);
  for (auto& e : page.totals.items) {
    auto const place = e.position == 0 ? 0 : e.position + able;
    page.rows.push_back({{}, std::move(e), place});
  }
  at += page.totals.items.size();
  page.totals.items.clear();
  auto const entries = page.totals.entries;
  if (at >= able + entries) add_programs(entries, all.items.size());
  page.complete = page.totals.complete && all.items.size() == all.all;
  if (at < entries + all.items.size()) page.next_page_token = page_token('q', at);
  return page;
}

coro::task<response> list_queue(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = query.limit();
  auto const from = query.page_token('q');
  auto work = [from, limit](server::hub& h) { return queue_of(h, from, limit); };
  return respond_with(context, in_pool_named(ex, std::move(work)));
}

}  // namespace

void add_queue_routes(std::vector<route>& to) {
  to.push_back(get("/api/v1/queue", list_queue, "listQueue",
                   "List waiting closures, gangs and programs in the order in which they start")
                   .with({cluster_parameter, limit_parameter, page_token_parameter("q")})
                   .responds_with("QueuePage", schema_of<queue_page>)
                   .also(404, "No such cluster"));
}

}  // namespace muster::web
