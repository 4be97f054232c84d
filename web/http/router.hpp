// The table of what the server answers: methods and path patterns, with the facts about each that
// the dispatcher enforces and /openapi.json tells, so that neither can drift from the other.
// Built once, read only, web thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coro/task.hpp"
#include "web/http/http.hpp"

namespace muster::web {

struct web_context;

using handler = coro::task<response> (*)(web_context&, exchange&);

enum class body_kind : std::uint8_t {
  none,            // a body is read past
  json,            // application/json up to the body limit, validated before the handler runs
  json_or_ndjson,  // as above, or application/x-ndjson that the handler reads piece by piece
  raw,             // any bytes of any type up to the body limit
};

enum class query_kind : std::uint8_t { text, number, duration, flag };

struct query_parameter {
  std::string_view name;
  query_kind kind;
  std::string_view meaning;
};

/// What every listing takes.
inline constexpr query_parameter limit_parameter{
    "limit", query_kind::number, "entries of the page, 100 unless told, 1000 at most"};
inline constexpr query_parameter page_token_parameter{"page_token", query_kind::text,
                                                      "next_page_token of the page before"};

struct route {
  std::string_view method;
  std::string_view pattern;  // "/api/v1/jobs/{id}/join"; a last "{key*}" takes slashes as well
  handler run;
  std::string_view id;  // OpenAPI operationId
  std::string_view summary;
  unsigned success = 200;
  std::string_view media = "application/json";
  body_kind body = body_kind::none;
  std::vector<query_parameter> query = {};
  std::string_view schema = "Submission";  // OpenAPI: of a JSON body
};

/// What every wait takes.
inline constexpr query_parameter timeout_parameter{
    "timeout", query_kind::duration, "how long to wait, 30s unless told, 10m at most"};

// The usual routes; what is special about one is set afterwards.
route get(std::string_view pattern, handler run, std::string_view id, std::string_view summary,
          std::vector<query_parameter> query = {});
route post(std::string_view pattern, handler run, std::string_view id, std::string_view summary,
           body_kind body = body_kind::none);
/// Answers without content.
route remove(std::string_view pattern, handler run, std::string_view id, std::string_view summary,
             std::vector<query_parameter> query = {});

class router {
 public:
  explicit router(std::vector<route> routes);

  struct match {
    route const* found = nullptr;
    std::vector<std::pair<std::string, std::string>> captures;
    std::string allow;  // methods of this path; empty: there is no such path
  };
  /// `path` still escaped; one trailing slash is ignored; HEAD finds the GET route.
  match find(std::string_view method, std::string_view path) const;

  std::span<route const> routes() const { return routes_; }

 private:
  std::vector<route> const routes_;
};

/// Every route of the server.
std::vector<route> all_routes();

}  // namespace muster::web
