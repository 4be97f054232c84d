// Who asks, and whether they may: the token of the Authorization header, or of the page's cookie.
// Stateless, web thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>

#include "web/rest/context.hpp"

namespace muster::web {

/// The page's; see POST /api/v1/session.
inline constexpr std::string_view token_cookie = "muster_token";

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

}  // namespace muster::web
