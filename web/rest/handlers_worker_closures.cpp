// What a worker runs and was sent ahead.
#include "base/text.hpp"
#include "server/core/api/id_text.hpp"
#include "server/core/api/listings.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/cluster_access.hpp"

namespace muster::web {

namespace {

constexpr std::size_t hands_max = 200;  // of each

void write(json_out& out, core::worker_hands::held const& c) {
  auto const object = out.object();
  out.key("id").string(core::text(c.id));
  if (c.job != core::session_id{}) out.key("job").string(core::text(c.job));
  out.key("index").number(c.index);
  out.key("function").string(c.function);
  out.key("since_ms").number(core::to_unix_ms(c.since));
}

response told(core::worker_hands const& hands) {
  return json_response(json_line([&hands](json_out& out) {
    auto const object = out.object();
    out.key("running").begin_array();
    for (auto const& c : hands.running) write(out, c);
    out.end_array().key("sent_ahead").begin_array();
    for (auto const& c : hands.sent_ahead) write(out, c);
    out.end_array().key("more").number(hands.more);
  }));
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
  return look(context, std::move(work), told);
}

}  // namespace

void add_worker_closure_routes(std::vector<route>& to) {
  to.push_back(get("/api/v1/clusters/{cluster}/tasks/{job}/{index}/closures", get_worker_closures,
                   "listWorkerClosures", "What a worker runs, and what it was sent ahead")
                   .tells("WorkerClosures"));
}

}  // namespace muster::web
