// What a caller's token is bound to, for handlers that learn it from a body or tell of several
// clusters. Web thread.
#pragma once

#include <optional>

#include "server/hub/access/cluster_scope.hpp"
#include "server/hub/access/use.hpp"
#include "server/hub/submission.hpp"
#include "web/rest/context.hpp"

namespace muster::web {

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

/// Work for the engine that takes something in: done when the caller's token has room for so many
/// more sessions and closures, in the same turn, so that requests beside it cannot take that room
/// too. RESOURCE_EXHAUSTED otherwise.
template <class Work>
auto within_limits(core::caller who, std::size_t sessions, std::size_t closures, Work work) {
  return [who = std::move(who), sessions, closures, work = std::move(work)](
             engine_services& services, auto const& slot) mutable {
    auto full = who ? server::room_of(*who, services.pools, sessions, closures) : muster::status{};
    full.ok() ? enter(services, work, slot) : slot->send(std::move(full));
  };
}

}  // namespace muster::web
