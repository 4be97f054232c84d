// The checks run in this order: host, origin, route, access, query, media type, body.
#include "web/server/dispatch.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "web/http/query.hpp"
#include "web/json/json_in.hpp"
#include "web/rest/caller_check.hpp"
#include "web/server/assets.hpp"

namespace muster::web {

namespace {

// Maximum time that a health probe waits while the server is not serving yet.
constexpr std::chrono::milliseconds probe_wait_max{500};
constexpr std::chrono::milliseconds poll_interval{20};

std::string_view next_segment(std::string_view& path) {
  path.remove_prefix(1);
  auto const end = std::min(path.find('/'), path.size());
  auto const segment = path.substr(0, end);
  path.remove_prefix(end);
  return segment;
}

// If the path does not match, `captures` is empty. A malformed escape or an escaped NUL matches no
// parameter.
bool matches(std::string_view pattern, std::string_view path,
             std::vector<std::pair<std::string, std::string>>& captures) {
  captures.clear();
  while (!pattern.empty() && !path.empty()) {
    auto const want = next_segment(pattern);
    bool const rest = want.ends_with("*}");
    auto const got = rest ? std::exchange(path, {}).substr(1) : next_segment(path);
    if (!want.starts_with('{')) {
      if (want != got) return false;
      continue;
    }
    auto value = percent_decoded(got, false);
    if (!value || value->empty() || value->find('\0') != std::string::npos) return false;
    captures.emplace_back(want.substr(1, want.size() - (rest ? 3 : 2)), std::move(*value));
  }
  return pattern.empty() && path.empty();
}

std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, std::min(host.find(']') + 1, host.size()));
  return host.substr(0, std::min(host.find(':'), host.size()));
}

bool is_loopback(std::string_view address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

std::string media_type(std::string_view content_type) {
  auto text = content_type.substr(0, std::min(content_type.find(';'), content_type.size()));
  while (text.ends_with(' ')) text.remove_suffix(1);
  return lower(text);
}

std::optional<problem> check_query(route const& r, request const& req) {
  for (auto const& [name, value] : req.query) {
    auto const known =
        std::any_of(r.query.begin(), r.query.end(), [&](auto const& p) { return p.name == name; });
    if (!known) return invalid(name, "unknown parameter");
  }
  query_check check(req);
  for (auto const& p : r.query) check.check(p);
  if (check.failed()) return check.failure();
  return {};
}

std::optional<problem> check_media(route const& r, request const& req) {
  if (r.body == body_kind::none || !req.has_body) return {};
  if (!req.content_encoding.empty() && lower(req.content_encoding) != "identity")
    return make_problem(415, muster::code::invalid_argument,
                        "Content-Encoding: '" + req.content_encoding.substr(0, 64) +
                            "' is not supported; send the body without compression",
                        "Content-Encoding");
  if (r.body == body_kind::raw) return {};
  auto const media = media_type(req.content_type);
  if (media == "application/json") return {};
  if (media == "application/x-ndjson" && r.body == body_kind::json_or_ndjson) return {};
  std::string const wanted =
      r.body == body_kind::json ? "application/json" : "application/json or application/x-ndjson";
  return make_problem(415, muster::code::invalid_argument,
                      "Content-Type: expected " + wanted + ", got " +
                          (media.empty() ? std::string("none") : "'" + media + "'"),
                      "Content-Type");
}

problem too_large(std::size_t limit) {
  auto const bytes = std::to_string(limit) + " bytes";
  return make_problem(413, muster::code::invalid_argument, "the body is larger than " + bytes, {},
                      bytes);
}

coro::task<std::optional<problem>> read_body(web_context& context, exchange& ex, body_kind kind) {
  auto const limit = context.options.body_limit_bytes;
  if (ex.req.content_length.value_or(0) > limit) co_return too_large(limit);
  for (;;) {
    auto piece = co_await ex.read_some();
    if (!piece) co_return to_problem(piece.error());
    if (piece->empty()) break;
    if (ex.req.body.size() + piece->size() > limit) co_return too_large(limit);
    ex.req.body += *piece;
  }
  if (kind == body_kind::raw) co_return std::nullopt;
  if (kind == body_kind::optional_json && ex.req.body.empty()) co_return std::nullopt;
  co_return check_json(ex.req.body);
}

response refusal(problem const& p) {
  auto r = problem_response(p);
  if (p.status == 401) r.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"muster\"");
  return r;
}

response page_not_found(std::string_view base_path, std::string_view path) {
  response r;
  r.status = 404;
  r.content_type = "text/html; charset=utf-8";
  r.headers = {{"Cache-Control", "no-cache"},
               {"Vary", "Accept"},
               {"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"}};
  // The path is already escaped, except for '&', '<' and characters that are safe in HTML.
  std::string shown;
  for (char const c : path) shown += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
  r.body =
      "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Page not found - Muster"
      "</title><h1>Page not found</h1><p>This Muster server has no page <code>" +
      shown + "</code>.</p><p><a href=\"" + std::string(base_path) +
      "/\">Dashboard</a>, <a href=\"" + std::string(base_path) +
      "/openapi.json\">REST API</a></p></html>\n";
  return r;
}

response page_or_404(web_context& context, request const& req) {
  bool const api = req.path.starts_with("/api/") || req.path == "/api";
  if (!api)
    if (auto page = context.assets.find(req)) return std::move(*page);
  bool const looks = req.method == "GET" || req.is_head();
  if (!api && looks && lower(req.accept).find("text/html") != std::string::npos)
    return page_not_found(context.options.base_path, req.path);
  return problem_response(
      make_problem(404, muster::code::not_found, "there is no " + req.method + " " + req.path));
}

coro::task<response> run_route(web_context& context, exchange& ex, matched_route m) {
  auto& req = ex.req;
  req.captures = std::move(m.captures);
  if (auto const p = co_await check_access(context, ex, *m.found)) co_return refusal(*p);
  if (auto p = check_query(*m.found, req)) co_return problem_response(*p);
  if (auto p = check_media(*m.found, req)) co_return problem_response(*p);
  bool const streamed_body = m.found->body == body_kind::json_or_ndjson &&
                             media_type(req.content_type) == "application/x-ndjson";
  if (m.found->body != body_kind::none && !streamed_body) {
    if (auto const p = co_await read_body(context, ex, m.found->body))
      co_return problem_response(*p);
  }
  auto answer = co_await m.found->run(context, ex);
  if (m.found->audited && req.who && answer.status < 300) audit(context, req, answer.status);
  co_return answer;
}

// If no other server is known to be serving, waits up to the engine timeout until this server is
// serving.
coro::task<std::optional<problem>> await_serving(web_context& context, exchange& ex) {
  bool const asks_state = ex.req.path == "/readyz" || ex.req.path == "/healthz";
  auto const limit = context.options.timeouts.engine;
  auto const end =
      std::chrono::steady_clock::now() + (asks_state ? std::min(limit, probe_wait_max) : limit);
  for (;;) {
    auto p = check_serving(context.options, ex.req);
    bool const over = std::chrono::steady_clock::now() >= end || ex.stopping();
    if (!p || !p->leader.empty() || over) co_return p;
    co_await context.engine.pause(poll_interval);
  }
}

coro::task<response> checked(web_context& context, exchange& ex) {
  auto const& req = ex.req;
  if (auto p = check_host(context.options, req)) co_return problem_response(*p);
  if (changes_state(req.method))
    if (auto p = check_origin(context.options, req)) co_return problem_response(*p);
  if (auto const p = co_await await_serving(context, ex)) co_return problem_response(*p);

  auto found = find_route(context.routes, req.method, req.path);
  if (found.found) {
    co_return co_await run_route(context, ex, std::move(found));
  }
  if (found.allow.empty() && (req.method == "GET" || req.method == "HEAD"))
    co_return page_or_404(context, req);
  if (found.allow.empty() && context.assets.find(req)) found.allow = "GET, HEAD, OPTIONS";
  if (found.allow.empty()) co_return page_or_404(context, req);
  if (req.method == "OPTIONS") {
    auto r = no_content();
    r.headers.emplace_back("Allow", found.allow);
    co_return r;
  }
  auto p = make_problem(405, muster::code::unimplemented,
                        req.method + " is not supported for this path; it supports " + found.allow);
  p.allow = found.allow;
  co_return problem_response(p);
}

}  // namespace

matched_route find_route(std::span<route const> routes, std::string_view method,
                         std::string_view path) {
  matched_route m;
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  if (!path.starts_with('/')) return m;
  std::vector<std::pair<std::string, std::string>> captures;
  for (auto const& r : routes) {
    if (!matches(r.pattern, path, captures)) continue;
    bool const get = r.method == "GET";
    if (!m.found && (r.method == method || (get && method == "HEAD"))) {
      m.found = &r;
      m.captures = captures;
    }
    if (m.allow.find(r.method) != std::string::npos) continue;
    if (!m.allow.empty()) m.allow += ", ";
    m.allow += r.method;
    if (get) m.allow += ", HEAD";
  }
  if (!m.allow.empty()) m.allow += ", OPTIONS";
  return m;
}

std::optional<problem> check_host(web_options const& options, request const& r) {
  if (r.host.empty() && r.http_1_0) return {};
  if (r.host.empty()) return invalid("Host", "missing");
  auto const name = lower(without_port(r.host));
  bool const loopback = is_loopback(options.address);
  if (!loopback && options.allowed_hosts.empty()) return {};
  if (loopback && (name == "localhost" || name == "127.0.0.1" || name == "[::1]")) return {};
  if (name == options.address) return {};
  for (auto const& allowed : options.allowed_hosts)
    if (equal_ignoring_case(allowed, name) || equal_ignoring_case(allowed, r.host)) return {};
  return make_problem(421, muster::code::permission_denied,
                      "Host: this server does not accept requests for the host '" + name + "'",
                      "Host");
}

std::optional<problem> check_origin(web_options const& options, request const& r) {
  if (r.origin.empty()) return {};
  auto const origin = lower(r.origin);
  auto const host = lower(r.host);
  if (!host.empty() && (origin == "http://" + host || origin == "https://" + host)) return {};
  for (auto const& allowed : options.allowed_origins)
    if (equal_ignoring_case(allowed, origin)) return {};
  return make_problem(403, muster::code::permission_denied,
                      "Origin: pages from '" + r.origin + "' are not allowed to use this server",
                      "Origin");
}

std::optional<problem> check_serving(web_options const& options, request const& r) {
  if (r.path == "/livez") return {};
  auto waiting = options.waiting();
  if (!waiting) return {};
  auto p = make_problem(503, muster::code::unavailable, std::move(waiting->detail));
  p.leader = std::move(waiting->leader);
  return p;
}

coro::task<response> dispatch(web_context& context, exchange& ex) {
  response r;
  try {
    r = co_await checked(context, ex);
  } catch (std::bad_alloc const&) {
    r = problem_response(make_problem(503, muster::code::resource_exhausted, "out of memory"));
  }
  co_return r;
}

}  // namespace muster::web
