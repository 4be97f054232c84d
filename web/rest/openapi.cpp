// Writes the OpenAPI 3.1 description of exactly the paths that are served, with the schemas used to
// check requests.
#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <map>
#include <optional>
#include <set>

#include "base/text.hpp"
#include "server/core/api/idempotency.hpp"
#include "web/http/query.hpp"
#include "web/json/arguments.hpp"
#include "web/json/cluster_json.hpp"
#include "web/json/example.hpp"
#include "web/json/machine_json.hpp"
#include "web/json/program_json.hpp"
#include "web/json/queue_json.hpp"
#include "web/json/submission_json.hpp"
#include "web/json/token_json.hpp"
#include "web/rest/handlers.hpp"

namespace muster::web {

namespace {

namespace bj = boost::json;

constexpr std::string_view about =
    "Live updates are sent over a WebSocket at /api/v1/ws; docs/websocket.md describes its "
    "messages. Errors are RFC 9457 problems. A request that does not match this description is "
    "answered with status 400. A request that matches the description but cannot be carried out is "
    "answered with 422. Text lengths are counted in characters. If the server's limit is in bytes, "
    "a text with too many bytes is answered with 422. An unknown path is answered with 404, and an "
    "unknown method with 405 and an Allow header. A wait time that is too long is shortened; any "
    "other duration that is too long is answered with 422. Parameters with a fixed set of values "
    "are not case-sensitive.";

struct tag {
  std::string_view name, meaning;
};

constexpr tag tags[] = {{"jobs", "Jobs: closures that are submitted together, and their results"},
                        {"closures", "Single function calls"},
                        {"values", "Outputs of closures, values on workers, and blobs"},
                        {"programs", "Programs that run as ranks on workers"},
                        {"objects", "Objects on tasks"},
                        {"datasets", "Datasets that are distributed to functions"},
                        {"functions", "Functions that workers provide"},
                        {"clusters", "Clusters of agents, and their runs"},
                        {"tasks", "Workers and agents, and their machines"},
                        {"barriers", "Barriers of a cluster"},
                        {"keys", "Key-value store of a cluster"},
                        {"torch", "TCPStore of torch.distributed"},
                        {"history", "Events, logs, samples and traces"},
                        {"tokens", "Tokens and sign-in"},
                        {"server", "State of the server"}};

// The last listed segment of a path determines the path's tag.
constexpr std::pair<std::string_view, std::string_view> tags_of_segments[] = {
    {"jobs", "jobs"},
    {"closures", "closures"},
    {"remote_values", "values"},
    {"per_worker_values", "values"},
    {"blobs", "values"},
    {"programs", "programs"},
    {"work", "jobs"},
    {"objects", "objects"},
    {"datasets", "datasets"},
    {"functions", "functions"},
    {"gangs", "jobs"},
    {"wishes", "jobs"},
    {"queue", "jobs"},
    {"clusters", "clusters"},
    {"tasks", "tasks"},
    {"machines", "tasks"},
    {"hosts", "tasks"},
    {"stragglers", "barriers"},
    {"barriers", "barriers"},
    {"kv", "keys"},
    {"kv_waits", "keys"},
    {"torch", "torch"},
    {"events", "history"},
    {"history", "history"},
    {"stream", "history"},
    {"samples", "history"},
    {"search", "history"},
    {"tokens", "tokens"},
    {"session", "tokens"},
    {"attention", "server"},
    {"overview", "server"},
    {"version", "server"},
    {"server", "server"},
    {"openapi.json", "server"},
    {"healthz", "server"},
    {"livez", "server"},
    {"readyz", "server"},
    {"metrics", "server"}};

std::string_view tag_of(std::string_view pattern) {
  std::string_view found;
  while (!pattern.empty()) {
    pattern.remove_prefix(1);
    auto const segment = pattern.substr(0, pattern.find('/'));
    pattern.remove_prefix(segment.size());
    for (auto const& [name, tag] : tags_of_segments)
      if (segment == name) found = tag;
  }
  return found;
}

struct common_outcome {
  outcome what;
  bool (*concerns)(route const& r);
};

bool has_body(route const& r) {
  return r.body != body_kind::none;
}

constexpr common_outcome common[] = {
    {{400, "The request does not match this description; `field` identifies the invalid part"},
     [](route const&) { return true; }},
    {{401, "The server requires a token; the request contains no token or an unknown token"},
     [](route const& r) { return r.needs != core::permission::nothing; }},
    {{403, "The token's role does not allow the request, or a page from another origin sent it"},
     [](route const& r) { return r.method != "GET" || r.needs != core::permission::nothing; }},
    {{404, "The resource does not exist"},
     [](route const& r) { return r.pattern.find('{') != std::string_view::npos; }},
    {{413, "The body is too large"}, has_body},
    {{415, "The media type of the body is not supported, or the body is compressed"}, has_body},
    {{421, "The Host header names another server"}, [](route const&) { return true; }},
    {{431, "The header is too long"}, [](route const&) { return true; }},
    {{503, "The server is stopping, or did not answer in time"}, [](route const&) { return true; }},
};

schema::json path_schema(std::string_view before) {
  constexpr std::pair<std::string_view, std::string_view> ids[] = {{"jobs", "job_"},
                                                                   {"closures", "cl_"},
                                                                   {"remote_values", "rv_"},
                                                                   {"per_worker_values", "pw_"}};
  for (auto const& [segment, prefix] : ids)
    if (before == segment) return schema::id(prefix);
  if (before == "{job}") return schema::integer(0, 999'999'999'999'999'999);
  if (before == "blobs") return schema::matching("^[0-9a-f]{64}$");
  if (before == "barriers")
    return schema::with(schema::text(1, 4'096),
                        {{"not", {{"const", "[Init]Wait_for_all_tasks_to_register"}}}});
  if (before == "kv") return schema::with(schema::matching("[^/]"), {{"minLength", 1}});
  return schema::text(1, 256);
}

void write_parameter(json_out& out, std::string_view name, std::string_view in, bool required,
                     std::string_view meaning, schema::json const& schema) {
  auto const object = out.object();
  out.key("name").string(name);
  out.key("in").string(in);
  if (required) out.key("required").boolean(true);
  // Scripts send an empty value if a variable is empty. The server treats an empty value as absent.
  if (in == "query" && !required) out.key("allowEmptyValue").boolean(true);
  if (!meaning.empty()) out.key("description").string(meaning);
  out.key("schema").raw(serialize(schema));
  if (required) out.key("example").raw(serialize(schema::example_of(schema, {}, name)));
}

void write_parameters(json_out& out, route const& r) {
  out.key("parameters").begin_array();
  std::string_view before;
  for (auto rest = r.pattern; !rest.empty();) {
    rest.remove_prefix(1);
    auto const segment = rest.substr(0, rest.find('/'));
    rest.remove_prefix(segment.size());
    if (segment.starts_with('{')) {
      bool const slashes = segment.ends_with("*}");
      write_parameter(out, segment.substr(1, segment.size() - (slashes ? 3 : 2)), "path", true,
                      slashes ? "can contain slashes" : "", path_schema(before));
    }
    before = segment;
  }
  for (auto const& q : r.query)
    write_parameter(out, q.name, "query", !q.missing.empty(), q.meaning, schema_of(q));
  if (r.conditional)
    write_parameter(out, "If-None-Match", "header", false,
                    "write the value only if the key does not exist", schema::one_of({"*"}));
  if (r.idempotent)
    write_parameter(out, "Idempotency-Key", "header", false,
                    "idempotency key; equivalent to `idempotency_key` in the body",
                    schema::text(0, core::idempotency_key_bytes_max));
  out.end_array();
}

constexpr std::string_view ndjson = "application/x-ndjson";

bool has_lines(route const& r) {
  return std::find(r.media.begin(), r.media.end(), ndjson) != r.media.end();
}

/// Describes the NDJSON lines of an operation. Generated clients have a class for the line schema
/// but do not split the lines.
std::string about_lines(route const& r) {
  auto const each = [](std::string_view what, std::string_view schema) {
    return std::string(what) + " is a JSON object with the schema `" + std::string(schema) +
           "`, without line breaks.";
  };
  if (r.body == body_kind::json_or_ndjson)
    return each("With `application/x-ndjson`, each line of the body", r.schema);
  return has_lines(r) ? each("Each line of the answer", r.outcomes.front().schema) : std::string();
}

constexpr std::string_view shared = "#/components/examples/";

void write_content(json_out& out, std::string_view media, std::optional<schema::json> const& schema,
                   bj::value const& example) {
  auto const object = out.key(media).object();
  bool const lines = media == ndjson;
  if (schema)
    out.key("schema").raw(serialize(lines ? schema::described(*schema, "each line") : *schema));
  // OpenAPI 3.2 calls this member itemSchema.
  if (schema && lines) out.key("x-itemSchema").raw(serialize(*schema));
  auto const* text = example.if_string();
  if (text && text->starts_with(shared))
    out.key("examples").raw(serialize(bj::value{{"example", {{"$ref", *text}}}}));
  else
    out.key("example").raw(serialize(example));
}

bj::value shared_example(std::string_view schema) {
  return bj::string(std::string(shared) + std::string(schema));
}

void write_body(json_out& out, route const& r) {
  if (r.body == body_kind::none && r.schema.empty()) return;
  bool const optional = r.body == body_kind::raw || r.body == body_kind::optional_json;
  out.key("requestBody").begin_object().key("required").boolean(!optional);
  out.key("content").begin_object();
  auto const schema = schema::ref(r.schema);
  auto const example = r.example.empty() ? bj::value("hello") : bj::parse(r.example);
  // The dispatcher uses `none` for a body that the handler reads in chunks.
  if (r.body == body_kind::raw || r.body == body_kind::none)
    write_content(out, "application/octet-stream", schema::bytes(), example);
  if (r.body == body_kind::json || r.body == body_kind::optional_json)
    write_content(out, "application/json", schema, example);
  if (r.body == body_kind::json_or_ndjson) {
    write_content(out, "application/json", schema::array(schema), bj::array{example});
    write_content(out, ndjson, schema, example);
  }
  out.end_object().end_object();
}

void write_header(json_out& out, std::string_view name, std::string_view words,
                  schema::json const& schema) {
  out.key("headers").begin_object().key(name).begin_object();
  out.key("description").string(words).key("schema").raw(serialize(schema));
  out.end_object().end_object();
}

void write_outcome(json_out& out, route const* r, outcome const& o) {
  auto const object = out.object();
  out.key("description").string(o.when);
  if (o.status == 429 || o.status == 503 || o.status == 507)
    write_header(out, "Retry-After", "seconds", schema::integer(1, 3'600));
  if (o.status == 201 && r->method == "POST")
    write_header(out, "Location", "path of the new resource", schema::text());
  bool const problem = o.status >= 400 && o.schema.empty();
  if (!problem && (!r || r->media.empty())) return;
  auto const content = out.key("content").object();
  if (problem)
    return write_content(out, "application/problem+json", schema::ref("Problem"),
                         shared_example("Problem"));
  for (auto const media : r->media) {
    if (o.schema.empty()) {
      bool const bytes = media != "application/json";
      write_content(out, media, std::nullopt, bytes ? bj::value("hello") : bj::value(42));
      continue;
    }
    write_content(out, media, schema::ref(o.schema), shared_example(o.schema));
  }
}

std::string common_name(unsigned status) {
  return "Status" + std::to_string(status);
}

void write_responses(json_out& out, route const& r) {
  std::map<unsigned, outcome const*> own;
  for (auto const& o : r.outcomes) own.emplace(o.status, &o);
  for (auto const& c : common)
    if (c.concerns(r)) own.emplace(c.what.status, nullptr);
  auto const object = out.key("responses").object();
  for (auto const& [status, o] : own) {
    out.key(std::to_string(status));
    if (o)
      write_outcome(out, &r, *o);
    else
      out.raw("{\"$ref\":\"#/components/responses/" + common_name(status) + "\"}");
  }
}

void write_operation(json_out& out, route const& r) {
  auto const object = out.key(lower(r.method)).object();
  out.key("operationId").string(r.id);
  out.key("summary").string(r.summary);
  if (auto const lines = about_lines(r); !lines.empty()) out.key("description").string(lines);
  out.key("tags").strings(std::initializer_list{tag_of(r.pattern)});
  write_parameters(out, r);
  write_body(out, r);
  write_responses(out, r);
}

constexpr std::string_view schema_names[] = {
    "Submission",      "Closure",       "ClosureOptions", "Retry",         "PerWorkerRequest",
    "Cluster",         "Argument",      "PlainArgument",  "Failure",       "Counts",
    "Progress",        "JobView",       "JobPage",        "Submitted",     "Appended",
    "Joined",          "ClosureView",   "ClosurePage",    "Explanation",   "ResultLine",
    "RemoteValueView", "PerWorkerView", "PerWorkerPage",  "LogLines",      "RemoteValuePage",
    "ValueHolders",    "ValuePreview",  "WorkerClosures", "Graph",         "WorkerView",
    "AgentView",       "TaskView",      "TaskPage",       "Generation",    "ClusterView",
    "ClusterPage",     "BarrierView",   "BarrierPage",    "BarrierPassed", "Stragglers",
    "KeyView",         "KeyPage",       "KeyWritten",     "KeyWaits",      "Events",
    "Stream",          "Trace",         "TaskHistory",    "Samples",       "Gangs",
    "Wishes",          "Problem",       "Overview",       "Version",       "BlobCounts",
    "BlobView",        "Attention",     "FunctionView",   "FunctionPage",  "Text",
    "OpenApi",         "TokenRequest",  "SignIn",         "TokenView",     "NewToken",
    "TokenPage",       "Session",       "ProgramRequest", "ProgramView",   "ProgramPage",
    "RankList",        "AttemptList",   "RankLog",        "ObjectView",    "ObjectPage",
    "DatasetView",     "DatasetPage",   "ClusterFailure", "ProgramStacks", "StopRequest",
    "AttemptDetail",   "TaskStacks",    "MachineView",    "MachinePage",   "TorchStore",
    "TorchKeyPage",    "TorchAttempt",  "RunPage",        "PastStream",    "LogMatches",
    "RunTimeline",     "JobDurations",  "TaskError",      "ResultPage",    "PastJobPage",
    "QueueEntry",      "QueuePage",     "HostPage",       "ServerHealth",  "WorkPage"};

std::map<std::string_view, schema::json> all_schemas(std::span<route const> routes) {
  std::map<std::string_view, schema::json> all{
      {"Failure", schema_of<core::failure>()},
      {"Counts", schema_of<core::closure_counts>()},
      {"Progress", schema_of<server::closure_progress>()},
      {"AgentView", schema_of<coordination::agent_view, core::time_point>()},
      {"Generation", schema_of<coordination::generation_view>()},
      {"KeyView", schema_of<coordination::key_view>()},
      {"FunctionView", schema_of<core::function_view>()},
      {"MachineView", schema_of<seen_machine>()},
      {"QueueEntry", schema_of<queue_row>()},
      {"Problem", problem_schema()},
      {"Text", schema::text()},
      {"OpenApi", schema::map(schema::any())}};
  for (auto const& some : {submission_schemas(),
                           {cluster_schema(), cluster_failure_schema(), task_error_schema(),
                            program_schema(), stop_schema()},
                           argument_schemas(),
                           token_schemas()})
    for (auto const& s : some) all.emplace(s.name, s.schema);
  for (auto const& r : routes)
    for (auto const& o : r.outcomes)
      if (o.described) all.emplace(o.schema, o.described());
  return all;
}

void write_components(json_out& out, std::span<route const> routes) {
  auto const components = out.key("components").object();
  auto const schemas = all_schemas(routes);
  out.key("schemas").begin_object();
  for (auto const name : schema_names) out.key(name).raw(serialize(schemas.at(name)));
  out.end_object();
  std::set<std::string_view> answered{"Problem"};
  for (auto const& r : routes)
    for (auto const& o : r.outcomes)
      if (!o.schema.empty()) answered.insert(o.schema);
  out.key("examples").begin_object();
  for (auto const name : answered)
    out.key(name).raw(
        serialize(bj::value{{"value", schema::example_of(schemas.at(name), schemas)}}));
  out.end_object();
  auto const responses = out.key("responses").object();
  for (auto const& c : common) {
    out.key(common_name(c.what.status));
    write_outcome(out, nullptr, c.what);
  }
}

std::string path_of(std::string_view pattern) {
  std::string path(pattern);
  std::erase(path, '*');
  return path;
}

}  // namespace

std::string openapi_text(std::span<route const> routes, std::string_view version,
                         std::string_view base_path) {
  std::map<std::string_view, std::vector<route const*>> by_path;
  for (auto const& r : routes) by_path[r.pattern].push_back(&r);
  return json_line([&](json_out& out) {
    auto const object = out.object();
    out.key("openapi").string("3.1.0");
    out.key("info").begin_object();
    out.key("title").string("Muster");
    out.key("version").string(version);
    out.key("description").string(about);
    out.end_object();
    if (!base_path.empty())
      out.key("servers")
          .begin_array()
          .begin_object()
          .key("url")
          .string(base_path)
          .end_object()
          .end_array();
    out.key("tags").begin_array();
    for (auto const& t : tags) {
      auto const one = out.object();
      out.key("name").string(t.name).key("description").string(t.meaning);
    }
    out.end_array();
    out.key("paths").begin_object();
    for (auto const& [path, here] : by_path) {
      auto const item = out.key(path_of(path)).object();
      for (auto const* r : here) write_operation(out, *r);
    }
    out.end_object();
    write_components(out, routes);
  });
}

coro::task<response> get_openapi(web_context& context, exchange&) {
  co_return json_response(
      openapi_text(context.routes, context.options.version, context.options.base_path));
}

}  // namespace muster::web
