// What a caller's token is bound to, for handlers that learn it from a body or tell of several
// clusters. Web thread.
#pragma once

#include <optional>

#include "server/hub/access/cluster_scope.hpp"
#include "server/hub/submission.hpp"
#include "web/rest/context.hpp"

namespace muster::web {

/// What the caller may look at.
server::shared_scope scope_of(web_context const& context, request const& req);
/// 403 when the token is bound to clusters and this is none of them; empty: the main one.
std::optional<problem> check_cluster(web_context const& context, request const& req,
                                     std::string_view cluster);
/// 403 when one of the functions runs programs and the token does not allow that.
std::optional<problem> check_functions(request const& req, server::submission const& closures);
/// 429 when the token would have more than its limits.
coro::task<std::optional<problem>> check_room(web_context& context, request const& req,
                                              std::size_t sessions, std::size_t closures);
std::optional<problem> check_function(request const& req, std::string_view function);

}  // namespace muster::web
