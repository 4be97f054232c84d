// From a request's head to its answer: the checks that every request passes, then its route.
// Stateless, web thread.
#pragma once

#include "web/rest/web_context.hpp"

namespace muster::web {

struct matched_route {
  route const* found = nullptr;
  std::vector<std::pair<std::string, std::string>> captures;
  std::string allow;  // methods of this path; empty: there is no such path
};
/// Matches segment by segment. `path` still escaped; one trailing slash is ignored; HEAD finds the
/// GET route.
matched_route find_route(std::span<route const> routes, std::string_view method,
                         std::string_view path);

/// Never fails: whatever goes wrong is an answer.
coro::task<response> dispatch(web_context& context, exchange& ex);

/// Refuses names that an attacker's page could point at this server. Nothing when it may pass.
std::optional<problem> check_host(web_options const& options, request const& r);
/// Refuses pages of other origins. Requests without `Origin` come from no page and pass.
std::optional<problem> check_origin(web_options const& options, request const& r);
/// Nothing when the server serves, or the request asks only whether the process lives.
std::optional<problem> check_serving(web_options const& options, request const& r);

}  // namespace muster::web
