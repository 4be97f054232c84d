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
#include "web/json/schema.hpp"

namespace muster::web {

struct web_context;

using handler = coro::task<response> (*)(web_context&, exchange&);

enum class body_kind : std::uint8_t {
  none,            // a body is read past
  json,            // application/json up to the body limit, validated before the handler runs
  optional_json,   // as above, or no body at all
  json_or_ndjson,  // as above, or application/x-ndjson that the handler reads piece by piece
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

/// One description of a parameter: the dispatcher checks what comes by it, query_check reads by it,
/// and /openapi.json tells it.
struct query_parameter {
  std::string_view name;
  query_kind kind;
  std::string_view meaning;
  std::uint64_t min = 0, max = UINT64_MAX;         // of a number
  std::span<std::string_view const> choices = {};  // of a choice; lower case does as well
  std::string_view pattern = {};                   // of a text, ECMA 262; of a token: its kinds
  std::string_view missing = {};                   // not empty: required
};

inline constexpr std::uint64_t page_default = 100, page_max = 1000;

/// What every listing takes.
inline constexpr query_parameter cluster_parameter{"cluster", query_kind::text,
                                                   "of this cluster; of the main one unless told"};
inline constexpr query_parameter limit_parameter{
    "limit", query_kind::number, "entries of the page, 100 unless told", 1, page_max};
/// `kinds`: of this listing's tokens; `kind`: of a number or of a text.
constexpr query_parameter page_token_parameter(
    std::string_view kinds, query_kind kind = query_kind::page_token,
    std::string_view meaning = "next_page_token of the page before") {
  return {.name = "page_token", .kind = kind, .meaning = meaning, .pattern = kinds};
}
/// One of these words.
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
/// What every wait takes.
inline constexpr query_parameter timeout_parameter{
    "timeout", query_kind::duration, "how long to wait, 30s unless told, 10m at most"};

/// A status that a route may answer, and when. Those that all routes have in common (a parameter
/// that does not fit, an engine that does not answer, …) are added by /openapi.json.
struct outcome {
  unsigned status;
  std::string_view when;
  std::string_view schema = {};           // of a success, by name; all others are problems
  web::schema::json (*described)() = {};  // what that name stands for, where nobody else says it
};

struct route {
  std::string_view method;
  std::string_view pattern;  // "/api/v1/jobs/{id}/join"; a last "{key*}" takes slashes as well
  handler run;
  std::string_view id;  // OpenAPI operationId
  std::string_view summary;
  std::vector<outcome> outcomes = {};
  std::vector<std::string_view> media = {"application/json"};  // of successes; none: no content
  body_kind body = body_kind::none;
  std::vector<query_parameter> query = {};
  std::string_view schema = {};   // OpenAPI: of a JSON body, or of its elements
  std::string_view example = {};  // OpenAPI: of a JSON body, as it can be sent
  bool conditional = false;       // If-None-Match: * is understood
  bool idempotent = false;        // Idempotency-Key is understood
  // Of who asks; see rest/permissions.cpp.
  core::permission needs = core::permission::administer;
  bool audited = false;        // who did it is told
  bool names_cluster = false;  // in its body
  bool scoped = false;  // without `cluster` it tells of all clusters that its caller may look at

  /// The answer of success.
  route& tells(std::string_view answer, web::schema::json (*schema_of_it)() = {},
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

// The usual routes; what is special about one is added behind.
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

/// Every route of the server.
std::vector<route> all_routes();

}  // namespace muster::web
