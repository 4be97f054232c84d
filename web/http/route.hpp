// The table of routes, used by the dispatcher and by /openapi.json, so that they cannot differ.
// Built once, read only, web thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coro/task.hpp"
#include "web/http/http.hpp"
#include "web/json/schema.hpp"

namespace muster::web {

struct web_context;

using handler = coro::task<response> (*)(web_context&, exchange&);

enum class body_kind : std::uint8_t {
  none,  // the body is skipped
  // `application/json` up to the body limit, validated before the handler runs.
  json,
  optional_json,   // as `json`, or without a body
  json_or_ndjson,  // as `json`, or application/x-ndjson that the handler reads piece by piece
  raw,             // any bytes of any type up to the body limit
};

enum class query_kind : std::uint8_t {
  text,
  number,
  duration,
  flag,
  choice,
  page_token,
  page_text
};

/// Describes a query parameter for the dispatcher, query_check and /openapi.json.
struct query_parameter {
  std::string_view name;
  query_kind kind;
  std::string_view meaning;
  std::uint64_t min = 0, max = UINT64_MAX;         // of a number
  std::span<std::string_view const> choices = {};  // of a choice; lower case is accepted, too
  std::string_view pattern = {};                   // of a text, ECMA 262; of a token: its kinds
  std::string_view missing = {};                   // not empty: required
};

inline constexpr std::uint64_t page_default = 100, page_max = 1000;

inline constexpr query_parameter cluster_parameter{
    "cluster", query_kind::text, "name of the cluster; default: the main cluster"};
inline constexpr query_parameter limit_parameter{"limit", query_kind::number,
                                                 "entries per page; default 100", 1, page_max};
/// `kinds`: the kinds of the listing's tokens. `kind`: whether the tokens hold a number or a text.
constexpr query_parameter page_token_parameter(
    std::string_view kinds, query_kind kind = query_kind::page_token,
    std::string_view meaning = "next_page_token of the previous page") {
  return {.name = "page_token", .kind = kind, .meaning = meaning, .pattern = kinds};
}
constexpr query_parameter choice_parameter(std::string_view name,
                                           std::span<std::string_view const> choices,
                                           std::string_view meaning) {
  return {.name = name, .kind = query_kind::choice, .meaning = meaning, .choices = choices};
}
constexpr query_parameter job_parameter(std::string_view meaning) {
  return {.name = "job",
          .kind = query_kind::text,
          .meaning = meaning,
          .pattern = "^(job_[0-9a-f]{16})?$"};
}
inline constexpr query_parameter timeout_parameter{"timeout", query_kind::duration,
                                                   "how long to wait; default 30s, at most 10m"};

/// A status that a route can answer, and when. /openapi.json adds those that all routes share, such
/// as an invalid parameter or an engine that does not answer.
struct outcome {
  unsigned status;
  std::string_view when;
  std::string_view schema = {};  // of a success, by name; all others are problems
  // The schema of that name, unless it is defined elsewhere.
  web::schema::json (*described)() = {};
};

struct route {
  std::string_view method;
  std::string_view pattern;  // "/api/v1/jobs/{id}/join"; a final "{key*}" also matches slashes
  handler run;
  std::string_view id;  // OpenAPI operationId
  std::string_view summary;
  std::vector<outcome> outcomes = {};
  std::vector<std::string_view> media = {"application/json"};  // of successes; empty: no content
  body_kind body = body_kind::none;
  std::vector<query_parameter> query = {};
  std::string_view schema = {};   // OpenAPI: of a JSON body, or of its elements
  std::string_view example = {};  // OpenAPI: a valid JSON body
  bool conditional = false;       // If-None-Match: * is supported
  bool idempotent = false;        // Idempotency-Key is supported
  // The permission that the caller needs; see rest/permissions.cpp.
  core::permission needs = core::permission::administer;
  bool audited = false;        // requests are logged with their caller
  bool names_cluster = false;  // in its body
  bool scoped = false;  // without `cluster`, answers for all clusters that the caller may see

  /// Adds the answer of success.
  route& responds_with(std::string_view answer, web::schema::json (*schema_of_it)() = {},
                       unsigned status = 200) {
    outcomes.push_back({status, summary, answer, schema_of_it});
    return *this;
  }
  route& also(unsigned status, std::string_view when, std::string_view answer = {}) {
    outcomes.push_back({status, when, answer});
    return *this;
  }
  route& as(std::vector<std::string_view> types) {
    media = std::move(types);
    return *this;
  }
  route& takes(body_kind kind, std::string_view of = {}, std::string_view such_as = {}) {
    body = kind;
    schema = of;
    example = such_as;
    return *this;
  }
  route& only_if_new() {
    conditional = true;
    return *this;
  }
  route& takes_idempotency_key() {
    idempotent = true;
    return *this;
  }
  route& with(std::vector<query_parameter> parameters) {
    query = std::move(parameters);
    return *this;
  }
};

// Common kinds of routes; the caller adds what differs.
inline route get(std::string_view pattern, handler run, std::string_view id,
                 std::string_view summary) {
  return {"GET", pattern, run, id, summary};
}
inline route post(std::string_view pattern, handler run, std::string_view id,
                  std::string_view summary) {
  return {"POST", pattern, run, id, summary};
}
/// Answers 204 without content.
inline route remove(std::string_view pattern, handler run, std::string_view id,
                    std::string_view summary) {
  route r{"DELETE", pattern, run, id, summary};
  r.media.clear();
  return std::move(r.also(204, summary));
}

std::vector<route> all_routes();

}  // namespace muster::web
