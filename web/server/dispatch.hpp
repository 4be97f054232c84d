// Runs the checks that all requests need, then the handler of the route. Stateless.
#pragma once

#include "web/rest/web_context.hpp"

namespace muster::web {

struct matched_route {
  route const* found = nullptr;
  std::vector<std::pair<std::string, std::string>> captures;
  std::string allow;  // allowed methods; empty if the path is unknown
};
/// Finds the route of an escaped path. Ignores one trailing slash. HEAD matches the GET route.
matched_route find_route(std::span<route const> routes, std::string_view method,
                         std::string_view path);

/// Never fails: all errors become responses.
coro::task<response> dispatch(web_context& context, exchange& ex);

/// Rejects host names with which an attacker's page could reach this server (DNS rebinding).
std::optional<problem> check_host(web_options const& options, request const& r);
/// Rejects requests from pages of other origins. A request without `Origin` does not come from a
/// page and is allowed.
std::optional<problem> check_origin(web_options const& options, request const& r);
/// Allows liveness probes while the server is not serving.
std::optional<problem> check_serving(web_options const& options, request const& r);

}  // namespace muster::web
