// Dispatches a request: runs the checks that all requests need, then the handler of its route.
// Stateless, web thread.
#pragma once

#include "web/rest/web_context.hpp"

namespace muster::web {

struct matched_route {
  route const* found = nullptr;
  std::vector<std::pair<std::string, std::string>> captures;
  std::string allow;  // methods of this path; empty: unknown path
};
/// Finds the route of a path that is still escaped, segment by segment. Ignores one trailing slash.
/// HEAD matches the GET route.
matched_route find_route(std::span<route const> routes, std::string_view method,
                         std::string_view path);

/// Returns the answer to a request. Never fails: all errors become answers.
coro::task<response> dispatch(web_context& context, exchange& ex);

/// Rejects host names that an attacker's page could point at this server. Returns nothing if the
/// request may pass.
std::optional<problem> check_host(web_options const& options, request const& r);
/// Rejects requests from pages of other origins. Requests without `Origin` are not from a page and
/// pass.
std::optional<problem> check_origin(web_options const& options, request const& r);
/// Returns nothing if the server serves, or if the request is a liveness probe.
std::optional<problem> check_serving(web_options const& options, request const& r);

}  // namespace muster::web
