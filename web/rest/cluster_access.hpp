// Access to a cluster on the engine thread, and calls to its coordination service.
#pragma once

#include <algorithm>
#include <string_view>

#include "server/hub/cluster_endpoints.hpp"
#include "server/hub/coordination_hub.hpp"
#include "web/engine/engine_link.hpp"
#include "web/http/http.hpp"
#include "web/http/query.hpp"
#include "web/json/problem.hpp"
#include "web/rest/web_context.hpp"

namespace muster::web {

namespace coordination = core::coordination;

/// Returns NOT_FOUND if the cluster does not exist. If no cluster is named `default`, this name
/// selects the cluster of the main port.
inline muster::result<coordination::cluster_id> find_cluster(engine_services& services,
                                                             std::string_view name) {
  auto const& all = services.coordination.state();
  auto found = all.find(name);
  if (!found && name == "default" && all.exists(services.endpoints.main()))
    return services.endpoints.main();
  return found;
}

/// Adds the field "cluster" to codes that look like server faults, because the cluster's run has
/// failed.
inline muster::status to_status(coordination::fault const& f) {
  muster::status s{f.code, f.message};
  if (http_status(f.code) == 500) s.field = "cluster";
  s.no_room = f.no_room;
  return s;
}

/// The service replies slightly before its deadline. With this margin, it replies when `timeout`
/// has elapsed.
inline core::duration with_margin(core::duration timeout) {
  return timeout + std::clamp<core::duration>(timeout / 19, std::chrono::milliseconds(50),
                                              std::chrono::seconds(1));
}

/// Returns engine work that calls `then(services, cluster)` with the cluster in the path.
template <class Then>
auto in_cluster(exchange const& ex, Then then) {
  return [name = std::string(ex.req.capture("cluster")),
          then = std::move(then)](engine_services& services) {
    auto const c = find_cluster(services, name);
    using value = answer<decltype(then(services, *c))>;
    return c ? value(then(services, *c)) : value(c.error());
  };
}

/// Returns engine work that calls `work(hub)`, or fails with NOT_FOUND. An empty name means the
/// main cluster.
template <class Work>
auto in_pool(std::string name, Work work) {
  return [name = std::move(name), work = std::move(work)](engine_services& services) mutable {
    auto const pool = services.pools.named(name);
    using value = answer<decltype(work(**pool))>;
    return pool ? value(work(**pool)) : value(pool.error());
  };
}
template <class Work>
auto in_pool_named(exchange const& ex, Work work) {
  return in_pool(std::string(ex.req.parameter("cluster")), std::move(work));
}
/// Returns engine work that replies later: calls `then(services, cluster, slot)` with the cluster
/// in the path.
template <class R, class Then>
auto asking_cluster(exchange const& ex, Then then) {
  return [name = std::string(ex.req.capture("cluster")), then = std::move(then)](
             engine_services& services, answer_handle<muster::result<R>> const& slot) {
    auto const c = find_cluster(services, name);
    c ? then(services, *c, slot) : slot->send(c.error());
  };
}

/// `then(reply)` returns the value for the slot. If the client disconnects, the call is withdrawn.
template <class R, class Request, class Then>
void ask_cluster(engine_services& services, coordination::cluster_id c, Request r,
                 answer_handle<muster::result<R>> const& slot, Then then) {
  auto const call =
      services.coordination.ask(c, std::move(r), [slot, then](coordination::reply& got) {
        if (got.fault)
          slot->send(to_status(*got.fault));
        else
          slot->send(then(got));
      });
  slot->when_left([c, call](engine_services& there) { there.coordination.forget(c, call); });
}

}  // namespace muster::web
