// Identifies the caller of a request by the token in its Authorization header or by its sign-in
// cookie, and checks the token's role, clusters and limits. Stateless, web thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "server/hub/access/cluster_scope.hpp"
#include "server/hub/submission.hpp"
#include "web/rest/web_context.hpp"

namespace muster::web {

inline bool changes_state(std::string_view method) {
  return method != "GET" && method != "HEAD" && method != "OPTIONS";
}

/// Sets req.who. 401, 403; told after `delay`, for which `place` is held.
std::optional<problem> check_caller(web_context& context, request& req, core::permission needs,
                                    std::chrono::milliseconds& delay, std::shared_ptr<void>& place);
/// The whole of it for a route: role, cluster, and whose a job is. After its delay.
coro::task<std::optional<problem>> check_access(web_context& context, exchange& ex, route const& r);
/// A line for the log and the event feed.
void audit(web_context& context, request const& req, unsigned status);

/// Returns a check for connections that outlive their request: whether the sign-in that admitted
/// the request is still valid. True for a request that was admitted otherwise: `end_all_of` closes
/// the connections of a token.
std::function<bool()> sign_in_check(web_context& context, request const& req);
// For handlers that read the cluster from a body, or report several clusters.
/// What the caller may look at.
server::shared_scope scope_of(web_context const& context, request const& req);
/// What the gate refused. A 403 has the field "role", so that a program can tell it from one that
/// is for the token's clusters.
problem refusal_problem(muster::status const& refused);
/// 403 when the token is bound to clusters and this is none of them; empty: the main one.
std::optional<problem> check_cluster(web_context const& context, request const& req,
                                     std::string_view cluster);
/// 403 when one of the functions runs programs and the token does not allow that.
std::optional<problem> check_functions(request const& req, server::submission const& closures);
std::optional<problem> check_function(request const& req, std::string_view function);

/// Where a request creates something: in the cluster of that name (empty: the main one), or in the
/// cluster of that job.
using target = std::variant<std::string, core::session_id>;
/// Returns the hub of `at`. Engine thread. NOT_FOUND: no such cluster.
muster::result<server::hub*> hub_at(engine_services& services, target const& at);

/// What a request adds to the sessions and queue entries of its token.
struct added_entries {
  std::size_t sessions = 0, entries = 0;
};
/// Engine thread. RESOURCE_EXHAUSTED: the caller's token has no room for them.
muster::status room_for(engine_services& services, core::caller const& who, added_entries added);

/// Returns work for the engine: `work(hub, slot)` if the token has room for `added(hub)`. All of it
/// is one step of the engine, so that concurrent requests cannot take the same room.
template <class Added, class Work>
auto taking_in(core::caller who, target at, Added added, Work work) {
  return [who = std::move(who), at = std::move(at), added = std::move(added),
          work = std::move(work)](engine_services& services, auto const& slot) mutable {
    auto const hub = hub_at(services, at);
    if (!hub) return slot->send(hub.error());
    if (auto full = room_for(services, who, added(**hub)); !full.ok())
      return slot->send(std::move(full));
    work(**hub, slot);
  };
}

}  // namespace muster::web
