#include "web/http/http.hpp"

namespace muster::web {

namespace {
std::string_view find(std::vector<std::pair<std::string, std::string>> const& in,
                      std::string_view name) {
  for (auto const& [key, value] : in)
    if (key == name) return value;
  return {};
}
}  // namespace

std::string_view request::capture(std::string_view name) const {
  return find(captures, name);
}
std::string_view request::parameter(std::string_view name) const {
  return find(query, name);
}

response json_response(std::string body, unsigned status) {
  response r;
  r.status = status;
  r.body = std::move(body);
  return r;
}

response no_content() {
  response r;
  r.status = 204;
  r.content_type.clear();
  return r;
}

response text_response(std::string body, unsigned status) {
  response r;
  r.status = status;
  r.content_type = "text/plain; charset=utf-8";
  r.body = std::move(body);
  return r;
}

response problem_response(problem const& p) {
  response r;
  r.status = p.status;
  r.content_type = "application/problem+json";
  r.body = to_json(p);
  if (p.retry_s > 0) r.headers.emplace_back("Retry-After", std::to_string(p.retry_s));
  if (!p.allow.empty()) r.headers.emplace_back("Allow", p.allow);
  return r;
}

response problem_response(muster::status const& s) {
  return problem_response(to_problem(s));
}

}  // namespace muster::web
