// The table of routes, shared by the dispatcher and /openapi.json. Built once and then read only on
// the web thread.
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
  none,
  // JSON up to the body limit, validated before the handler runs
  json,
  optional_json,
  json_or_ndjson,  // JSON like `json`, or NDJSON that the handler reads in chunks
  raw,             // any bytes, up to the body limit
};

enum class query_kind : std::uint8_t {
  text,
  number,
  duration,
  flag,
  choice,
  choices,  // several, separated by commas
  page_token,
  page_text
};

struct query_parameter {
  std::string_view name;
  query_kind kind;
  std::string_view meaning;
  std::uint64_t min = 0, max = UINT64_MAX;
  std::span<std::string_view const> choices = {};  // also accepted in lower case
  std::string_view pattern = {};
  std::string_view missing = {};  // error message if missing
};

inline constexpr std::uint64_t page_default = 100, page_max = 1000;

inline constexpr query_parameter cluster_parameter{"cluster", query_kind::text,
                                                   "cluster name; default: the main cluster"};
inline constexpr query_parameter limit_parameter{"limit", query_kind::number,
                                                 "entries per page; default 100", 1, page_max};
/// `kinds` contains the letters that a token can start with. `kind` determines whether tokens
/// contain a number or a text.
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
constexpr query_parameter choices_parameter(std::string_view name,
                                            std::span<std::string_view const> choices,
                                            std::string_view meaning) {
  return {.name = name, .kind = query_kind::choices, .meaning = meaning, .choices = choices};
}
constexpr query_parameter job_parameter(std::string_view meaning) {
  return {.name = "job",
          .kind = query_kind::text,
          .meaning = meaning,
          .pattern = "^(job_[0-9a-f]{16})?$"};
}
inline constexpr query_parameter timeout_parameter{"timeout", query_kind::duration,
                                                   "how long to wait; default 30s, at most 10m"};

struct outcome {
  unsigned status;
  std::string_view when;
  std::string_view schema = {};  // schema name of a successful response; errors are problem details
  // The function is null if the schema is defined elsewhere.
  web::schema::json (*described)() = {};
};

struct route {
  std::string_view method;
  std::string_view pattern;
  handler run;
  std::string_view id;
  std::string_view summary;
  std::vector<outcome> outcomes = {};
  // Media types of a successful response; empty if it has no content.
  std::vector<std::string_view> media = {"application/json"};
  body_kind body = body_kind::none;
  std::vector<query_parameter> query = {};
  std::string_view schema = {};  // schema name of a JSON body, or of its elements
  std::string_view example = {};
  bool conditional = false;  // whether the route supports `If-None-Match: *`
  bool idempotent = false;   // whether the route supports `Idempotency-Key`
  // The table in rest/permissions.cpp sets this member.
  core::permission needs = core::permission::administer;
  bool audited = false;
  bool names_cluster = false;
  bool scoped = false;  // whether all visible clusters are covered if `cluster` is not given

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

inline route get(std::string_view pattern, handler run, std::string_view id,
                 std::string_view summary) {
  return {"GET", pattern, run, id, summary};
}
inline route post(std::string_view pattern, handler run, std::string_view id,
                  std::string_view summary) {
  return {"POST", pattern, run, id, summary};
}
inline route remove(std::string_view pattern, handler run, std::string_view id,
                    std::string_view summary) {
  route r{"DELETE", pattern, run, id, summary};
  r.media.clear();
  return std::move(r.also(204, summary));
}

std::vector<route> all_routes();

}  // namespace muster::web
