// OpenAPI 3.1, written from the router's own table: what is not served is not in it.
#include <map>

#include "base/text.hpp"
#include "web/json/json_out.hpp"
#include "web/rest/handlers.hpp"

namespace muster::web {

namespace {

void write_schema(json_out& out, query_kind kind) {
  out.key("schema").begin_object();
  switch (kind) {
    case query_kind::text:
      out.key("type").string("string");
      break;
    case query_kind::number:
      out.key("type").string("integer");
      break;
    case query_kind::flag:
      out.key("type").string("boolean");
      break;
    case query_kind::duration:
      out.key("type").string("string");
      out.key("pattern").string("^(0|([0-9]+(us|ms|s|m|h|d))+)$");
      break;
  }
  out.end_object();
}

// "key*" of the pattern is "key" to readers.
std::string_view parameter_name(std::string_view text) {
  return text.substr(0, text.find('*'));
}

std::string path_of(std::string_view pattern) {
  std::string path(pattern);
  if (auto const star = path.find('*'); star != std::string::npos) path.erase(star, 1);
  return path;
}

void write_parameters(json_out& out, route const& r) {
  out.key("parameters").begin_array();
  auto rest = r.pattern;
  for (auto open = rest.find('{'); open != std::string_view::npos; open = rest.find('{')) {
    auto const close = rest.find('}', open);
    out.begin_object();
    out.key("name").string(parameter_name(rest.substr(open + 1, close - open - 1)));
    out.key("in").string("path");
    out.key("required").boolean(true);
    write_schema(out, query_kind::text);
    out.end_object();
    rest.remove_prefix(close + 1);
  }
  for (auto const& q : r.query) {
    out.begin_object();
    out.key("name").string(q.name);
    out.key("in").string("query");
    out.key("description").string(q.meaning);
    write_schema(out, q.kind);
    out.end_object();
  }
  out.end_array();
}

// {"$ref":…} of a schema by name.
void write_ref(json_out& out, std::string_view schema) {
  auto const path = "#/components/schemas/" + std::string(schema);
  out.begin_object().key("$ref").string(path).end_object();
}

void write_body(json_out& out, route const& r) {
  if (r.body == body_kind::none) return;
  out.key("requestBody").begin_object().key("required").boolean(true);
  out.key("content").begin_object();
  auto const media = [&out](std::string_view type, auto write_schema_of) {
    out.key(type).begin_object();
    write_schema_of();
    out.end_object();
  };
  if (r.body == body_kind::raw) {
    media("application/octet-stream", [] {});
  } else {
    media("application/json", [&] {
      out.key("schema");
      if (r.body == body_kind::json) return write_ref(out, r.schema);
      out.begin_object().key("type").string("array").key("items");
      write_ref(out, "Closure");
      out.end_object();
    });
  }
  if (r.body == body_kind::json_or_ndjson)
    media("application/x-ndjson", [&] {
      out.key("schema");
      write_ref(out, "Closure");
    });
  out.end_object().end_object();
}

void write_responses(json_out& out, route const& r) {
  out.key("responses").begin_object();
  out.key(std::to_string(r.success)).begin_object();
  out.key("description").string(r.summary);
  if (!r.media.empty())
    out.key("content").begin_object().key(r.media).begin_object().end_object().end_object();
  out.end_object();
  out.key("default").begin_object().key("description").string("What went wrong");
  out.key("content").begin_object().key("application/problem+json").begin_object();
  out.key("schema");
  write_ref(out, "Problem");
  out.end_object().end_object().end_object().end_object();
}

void write_operation(json_out& out, route const& r) {
  out.key(lower(r.method)).begin_object();
  out.key("operationId").string(r.id);
  out.key("summary").string(r.summary);
  write_parameters(out, r);
  write_body(out, r);
  write_responses(out, r);
  out.end_object();
}

constexpr std::string_view schemas = R"({
"Closure":{"type":"object","required":["function"],"additionalProperties":false,"properties":{
 "function":{"type":"string","maxLength":256},"args":{"type":"array"},"kwargs":{"type":"object"},
 "options":{"$ref":"#/components/schemas/ClosureOptions"}}},
"ClosureOptions":{"type":"object","additionalProperties":false,"properties":{
 "priority":{"type":"integer","minimum":-1000000,"maximum":1000000},
 "delay":{"type":"string"},"deadline":{"type":"string"},
 "max_retries":{"type":"integer","minimum":0,"maximum":10000},
 "retry_delay":{"type":"string"},"retry_delay_max":{"type":"string"},
 "task":{"type":"string"},"gang":{"type":"string","maxLength":256},"labels":{"type":"object","additionalProperties":{"type":"string"}},
 "resources":{"type":"object","additionalProperties":{"type":"integer","minimum":1}}}},
"PerWorkerRequest":{"type":"object","required":["function"],"additionalProperties":false,
 "properties":{"function":{"type":"string","maxLength":256},"name":{"type":"string","maxLength":256},
 "args":{"type":"array"},"kwargs":{"type":"object"}}},
"Submission":{"type":"object","additionalProperties":false,"properties":{
 "name":{"type":"string","maxLength":256},"cluster":{"const":"default"},
 "closures":{"type":"array","items":{"$ref":"#/components/schemas/Closure"}},
 "map":{"type":"object","required":["function","args"],"additionalProperties":false,"properties":{
  "function":{"type":"string","maxLength":256},"args":{"type":"array","items":{"type":"array"}},
  "options":{"$ref":"#/components/schemas/ClosureOptions"}}},
 "on_error":{"enum":["fail_fast","continue"]},"open":{"type":"boolean"},
 "options":{"type":"object","additionalProperties":false,"properties":{
  "require_function":{"type":"boolean"},"max_worker_failures":{"type":"integer","minimum":0},
  "weight":{"type":"integer","minimum":1,"maximum":1000},"deadline":{"type":"string"}}},
 "metadata":{"type":"object"},"idempotency_key":{"type":"string","maxLength":256}}},
"Cluster":{"type":"object","required":["name"],"additionalProperties":false,"properties":{
 "name":{"type":"string","pattern":"^[A-Za-z0-9_.-]{1,128}$"},"type":{"type":"string"},
 "jobs":{"type":"object","additionalProperties":{"type":"integer","minimum":1}},
 "heartbeat_timeout":{"type":"string"},"connection_grace":{"type":"string"},
 "register_timeout":{"type":"string"},
 "shutdown_timeout":{"type":"string"},"stuck_after":{"type":"string"},
 "recoverable":{"type":"boolean"},"recoverable_jobs":{"type":"array","items":{"type":"string"}},
 "allow_reconnect":{"type":"boolean"},"register_barrier":{"type":"boolean"},
 "renew":{"type":"boolean"}}},
"Problem":{"type":"object","required":["status","title","detail","code"],"properties":{
 "status":{"type":"integer"},"title":{"type":"string"},"detail":{"type":"string"},
 "code":{"type":"string"},"field":{"type":"string"},"limit":{"type":"string"}}}})";

std::string describe(web_context& context) {
  std::map<std::string_view, std::vector<route const*>> paths;
  for (auto const& r : context.routes.routes()) paths[r.pattern].push_back(&r);
  return json_line([&](json_out& out) {
    out.begin_object();
    out.key("openapi").string("3.1.0");
    out.key("info").begin_object();
    out.key("title").string("Muster");
    out.key("version").string(context.options.version);
    out.end_object();
    out.key("paths").begin_object();
    for (auto const& [path, routes] : paths) {
      out.key(path_of(path)).begin_object();
      for (auto const* r : routes) write_operation(out, *r);
      out.end_object();
    }
    out.end_object();
    out.key("components").begin_object().key("schemas").raw(schemas).end_object();
    out.end_object();
  });
}

}  // namespace

coro::task<response> get_openapi(web_context& context, exchange&) {
  co_return json_response(describe(context));
}

}  // namespace muster::web
