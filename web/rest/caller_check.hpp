// Identifies the caller by the token in the Authorization header or by the sign-in cookie. Checks
// the token's role, clusters and limits. Stateless.
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

/// Sets req.who, or returns 401 or 403. The caller must delay the response by `delay` and keep
/// `place` until then.
std::optional<problem> check_caller(web_context& context, request& req, core::permission needs,
                                    std::chrono::milliseconds& delay, std::shared_ptr<void>& place);
/// Checks role, cluster, and the submitter of a job. Completes after the delay of check_caller().
coro::task<std::optional<problem>> check_access(web_context& context, exchange& ex, route const& r);
void audit(web_context& context, request const& req, unsigned status);

/// Returns a function that reports whether the request's sign-in is still valid, for connections
/// that outlive the request. It always returns true for a token, because `end_all_of` closes the
/// token's connections.
std::function<bool()> sign_in_check(web_context& context, request const& req);
/// Used by handlers that read the cluster from a body or report several clusters.
server::shared_scope scope_of(web_context const& context, request const& req);
/// A 403 has the field "role", which distinguishes it from a 403 caused by the token's clusters.
problem refusal_problem(muster::status const& refused);
/// Returns 403 if the token is restricted to other clusters. An empty name means the main cluster.
std::optional<problem> check_cluster(web_context const& context, request const& req,
                                     std::string_view cluster);
/// Returns 403 if a function runs programs and the token does not allow this.
std::optional<problem> check_functions(request const& req, server::submission const& closures);
std::optional<problem> check_function(request const& req, std::string_view function);

/// A cluster by name (empty for the main cluster), or the cluster of a job.
using target = std::variant<std::string, core::session_id>;
/// Returns NOT_FOUND if the cluster does not exist. Runs on the engine thread.
muster::result<server::hub*> hub_at(engine_services& services, target const& at);

struct added_entries {
  std::size_t sessions = 0, entries = 0;
};
/// Returns RESOURCE_EXHAUSTED if the entries would exceed the limits of the caller's token. Runs on
/// the engine thread.
muster::status room_for(engine_services& services, core::caller const& who, added_entries added);

/// Returns engine work that calls `work(hub, slot)` if the token's limits allow `added(hub)`. The
/// check and the work run in one engine step, so that concurrent requests together cannot exceed
/// the limits.
template <class Added, class Work>
auto with_room_for(core::caller who, target at, Added added, Work work) {
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
