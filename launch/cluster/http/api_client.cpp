#include "launch/cluster/http/api_client.hpp"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <optional>

#include "base/http_client/url.hpp"
#include "launch/cluster/http/addresses.hpp"
#include "launch/cluster/http/retry_after.hpp"
#include "launch/cluster/resolver_text.hpp"

namespace muster::cluster {

using muster::http_response;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t message_bytes_max = 300;

bool is_retryable(unsigned status) {
  return status == 429 || (status >= 500 && status != 501 && status != 505);
}

cluster_error::code code_of(unsigned status) {
  using code = cluster_error::code;
  if (status == 401 || status == 403) return code::denied;
  if (status == 404 || status == 410) return code::missing;
  if (is_retryable(status)) return code::unreachable;
  return code::invalid;
}

std::string one_line(std::string_view text) {
  text = trimmed(text);
  std::string line;
  for (char const c : text.substr(0, message_bytes_max))
    line += c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
  return printable(line) + (text.size() > message_bytes_max ? "…" : "");
}

std::string text_at(json::object const& o, std::string_view key) {
  auto const* found = o.if_contains(key);
  return found && found->is_string() ? std::string(found->get_string()) : std::string();
}

/// Rejects http:// URLs of other machines, which would reveal the token.
void keep_token_secret(std::string const& url) {
  auto const target = muster::parse_http_url(url);
  if (target && !target->tls && !is_loopback(target->host))
    throw invalid(url + ": a token can be sent only over https://");
}

/// Returns `message`, `error.message`, `error_description` or `error` of the body, otherwise the
/// body's first line. Returns one line of at most 300 bytes.
std::string service_message(std::string const& body) {
  boost::json::error_code ec;
  auto const parsed = boost::json::parse(body, ec);
  if (ec || !parsed.is_object()) {
    auto const begin = trimmed(body);
    return one_line(begin.substr(0, begin.find('\n')));
  }
  auto const& all = parsed.get_object();
  std::string found = text_at(all, "message");
  if (auto const* error = all.if_contains("error"); found.empty() && error && error->is_object())
    found = text_at(error->get_object(), "message");
  if (found.empty()) found = text_at(all, "error_description");
  if (found.empty()) found = text_at(all, "error");
  return one_line(found.empty() ? body : found);
}

}  // namespace

api_client::api_client(api_service service)
    : service_(std::move(service)),
      client_({api_answer_bytes_max, service_.ca_file, service_.verify}) {}

struct api_client::attempts {
  api_service const& service;
  std::chrono::steady_clock::time_point begun = service.time.now();
  int made = 0;

  milliseconds left() const {
    auto const gone = std::chrono::duration_cast<milliseconds>(service.time.now() - begun);
    return service.limits.total - gone;
  }

  bool next(std::optional<milliseconds> asked_for) const {
    auto const& l = service.limits;
    if (made >= l.tries) return false;
    auto pause = l.first_wait;
    for (int i = 1; i < made && pause < l.longest_wait; ++i) pause *= 2;
    pause = std::min(pause, l.longest_wait);
    auto const spread = milliseconds(static_cast<std::int64_t>(
        static_cast<double>(pause.count()) * (0.5 + 0.5 * service.time.chance())));
    auto const wait = std::max(spread, asked_for.value_or(milliseconds(0)));
    if (wait >= left()) return false;
    service.time.wait(wait);
    return true;
  }

  std::string told() const {
    return made > 1 ? " (after " + std::to_string(made) + " tries)" : std::string();
  }
};

http_response api_client::send(api_request const& request) {
  if (service_.token || request.secret) keep_token_secret(request.url);
  attempts tries{service_};
  for (;;) {
    muster::http_request r;
    r.method = request.method;
    r.url = request.url;
    r.body = request.body;
    r.content_type = request.content_type;
    r.headers = service_.headers;
    r.headers.emplace_back("Accept", "application/json");
    if (service_.token) r.token = service_.token();
    r.timeout = std::max(milliseconds(1), std::min(service_.limits.one_try, tries.left()));
    auto answer = client_.send(r);
    ++tries.made;
    if (answer) {
      if (!request.again || !is_retryable(answer->status)) return std::move(*answer);
      auto const asked = retry_after(answer->header("Retry-After"), service_.time.wall());
      if (!tries.next(asked)) return std::move(*answer);
      continue;
    }
    auto const& e = answer.error();
    if (e.code == muster::code::invalid_argument)
      throw cluster_error(cluster_error::code::invalid, e.message);
    if (e.code == muster::code::unauthenticated)
      throw cluster_error(cluster_error::code::denied, e.message);
    if (e.code == muster::code::resource_exhausted)
      throw cluster_error(cluster_error::code::invalid, request.url + ": " + e.message);
    if (!request.again || !tries.next({}))
      throw cluster_error(cluster_error::code::unreachable,
                          request.method + " " + request.url + ": " + e.message + tries.told());
  }
}

cluster_error api_client::failure(api_request const& request, http_response const& answer) const {
  auto line = request.method + " " + request.url + ": " + std::to_string(answer.status);
  if (auto const said = service_message(answer.body); !said.empty()) line += ": " + said;
  if (service_.remedy)
    if (auto const advice = service_.remedy(answer.status); !advice.empty()) line += "; " + advice;
  return {code_of(answer.status), line};
}

json::value api_client::ask(api_request const& request) {
  return read(request, send(request));
}

void api_client::check(api_request const& request, http_response const& answer) const {
  if (!answer.ok()) throw failure(request, answer);
}

json::value api_client::read(api_request const& request, http_response const& answer) const {
  check(request, answer);
  try {
    return parse_json(answer.body, request.url);
  } catch (cluster_error const& e) {
    auto const begin = one_line(std::string_view(answer.body).substr(0, 80));
    throw cluster_error(e.kind(), std::string(e.what()) + ": " + quoted(begin));
  }
}

}  // namespace muster::cluster
