// The parameters of the task stream and its trace.
#pragma once

#include <optional>
#include <vector>

#include "server/core/api/activity.hpp"
#include "server/core/queries/session_queries.hpp"
#include "web/json/stream_json.hpp"
#include "web/live/websocket_hub.hpp"
#include "web/rest/cluster_access.hpp"
#include "web/rest/handlers.hpp"

namespace muster::web {

struct stream_query {
  core::activity_filter filter;
  std::string cluster;  // used if no job is given; empty for the main cluster

  template <class Work>
  auto ask(web_context& context, Work work) const {
    auto run = [job = filter.job, cluster = cluster,
                work = std::move(work)](engine_services& services) mutable {
      using value = answer<decltype(work(services.pools.main()))>;
      if (job != core::session_id{}) {
        auto& h = services.pools.of(job);
        if (auto const there = h.state().sessions().find(job); !there) return value(there.error());
        return value(work(h));
      }
      auto const pool = services.pools.named(cluster);
      return pool ? value(work(**pool)) : value(pool.error());
    };
    return context.engine.on_engine(std::move(run));
  }
};

std::vector<query_parameter> stream_parameters();
/// Accepts at most 100 tasks.
std::optional<problem> parse_stream_query(query_check& query, stream_query& into);

coro::task<response> stream_trace(web_context& context, exchange& ex);
coro::task<response> job_trace(web_context& context, exchange& ex);

}  // namespace muster::web
