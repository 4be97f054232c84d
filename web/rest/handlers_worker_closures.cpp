// What a worker runs and was sent ahead.
#include "base/text.hpp"
#include "server/core/api/id_text.hpp"
#include "server/core/api/listings.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/cluster_access.hpp"

namespace muster::web {

namespace {

constexpr std::size_t hands_max = 200;  // of each

void held_members(member_list const& m, core::worker_hands::held const& c) {
  m("id", c.id);
  m.some("job", c.job);
  m("index", c.index);
  m("function", c.function);
  m("since_ms", c.since);
}

void hands_members(member_list const& m, core::worker_hands const& hands) {
  m.list("running", hands.running, held_members);
  m.list("sent_ahead", hands.sent_ahead, held_members);
  m("more", hands.more, "beyond the 200 of each");
}

coro::task<response> get_worker_closures(web_context& context, exchange& ex) {
  auto const index = parse_number(ex.req.capture("index"));
  if (!index || *index > INT64_MAX) return refused(unknown_id("task", ex.req.capture("index")));
  auto work = in_cluster(
      ex,
      [job = std::string(ex.req.capture("job")), index = static_cast<std::int64_t>(*index)](
          engine_services& services,
          coordination::cluster_id c) -> muster::result<core::worker_hands> {
        auto* const h = services.pools.existing(c);
        if (h) return h->state().in_hands_of(job, index, hands_max);
        return muster::status{muster::code::not_found,
                              "no worker " + job + ":" + std::to_string(index)};
      });
  return look(context, std::move(work), as_told_by<hands_members>);
}

}  // namespace

void add_worker_closure_routes(std::vector<route>& to) {
  to.push_back(get("/api/v1/clusters/{cluster}/tasks/{job}/{index}/closures", get_worker_closures,
                   "listWorkerClosures", "What a worker runs, and what it was sent ahead")
                   .tells("WorkerClosures", schema_told_by<hands_members>));
}

}  // namespace muster::web
