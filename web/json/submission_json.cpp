// The tables of a job and its closures, and checks that tables cannot express.
#include "web/json/submission_json.hpp"

#include <absl/strings/escaping.h>

#include <boost/json/parse.hpp>

#include "web/json/arguments.hpp"

namespace muster::web {

namespace {

constexpr std::size_t name_bytes_max = 256;
constexpr std::size_t metadata_bytes_max = 16 * 1024;

json_kind<core::closure_options> closure_options() {
  return {schema::ref("ClosureOptions"), closure_options_table().kind().read};
}

// The name is required, because a hash alone is not readable.
json_kind<std::string> a_display_name() {
  static_assert(core::callable_name_bytes_max == function_characters_max);
  return a_function("must have 1 to 256 bytes");
}

json_kind<std::string> a_hash() {
  constexpr std::size_t digits = 2 * core::callable_hash_bytes;
  auto read = [](json_check& check, json_ref const& at) {
    auto const text = check.text(at, digits);
    if (check.failed()) return text;
    if (text.size() != digits || text.find_first_not_of("0123456789abcdef") != text.npos)
      check.fail(at, "expected 64 lowercase hexadecimal digits, got '" + text + "'");
    return absl::HexStringToBytes(text);
  };
  return {schema::with(schema::text(digits, digits), {{"pattern", "^[0-9a-f]{64}$"}}), read};
}

std::uint32_t calling(json_check& check, json_ref const& at, core::callable_name const& called,
                      server::submission& into) {
  if (!called.name.empty()) return into.calling(called);
  if (!called.hash.empty()) check.fail(impossible(at.path(), "'callable' requires 'display_name'"));
  return 0;
}

struct closure_members {
  std::string function;
  core::callable_name called;
  core::closure_options options;
  std::optional<json_ref> args, kwargs;
};

json_object<closure_members> closure_object(std::vector<json_field<closure_members>> arguments) {
  using c = closure_members;
  using called = core::callable_name;
  std::vector<json_field<c>> all{required("function", &c::function, a_function())};
  for (auto& f : arguments) all.push_back(std::move(f));
  all.push_back(nested(&c::called, field("display_name", &called::name, a_display_name())));
  all.push_back(nested(&c::called, field("callable", &called::hash, a_hash())));
  all.push_back(field("options", &c::options, closure_options()));
  return json_object<c>(std::move(all));
}

json_object<closure_members> const& closure_table() {
  using c = closure_members;
  static auto const table =
      closure_object({field("args", &c::args, kept(arguments_schema())),
                      field("kwargs", &c::kwargs, kept(named_arguments_schema()))});
  return table;
}

json_object<closure_members> const& map_table() {
  auto args = kept(schema::array(arguments_schema()), "required: an array of argument arrays");
  static auto const table =
      closure_object({required("args", &closure_members::args, std::move(args))});
  return table;
}

void read_map(json_check& check, json_ref const& at, server::submission& into) {
  closure_members map;
  map_table().read(check, at, map);
  if (check.failed() || !check.is(*map.args, json_type::array)) return;
  auto const asked = into.asking(map.options);
  auto const called = calling(check, at, map.called, into);
  for (json_walk list(*map.args); list.next() && !check.failed();) {
    auto& closure = into.add(map.function);
    closure.extras = asked;
    closure.callable = called;
    read_arguments(check, &list.value(), nullptr, closure);
  }
}

struct job_members {
  std::string cluster;
  core::session_spec spec;
  std::optional<json_ref> closures, map;
};

json_object<job_members> const& job_table() {
  using j = job_members;
  using s = core::session_spec;
  auto read_options = [](json_check& check, json_ref const& at, j& job) {
    job_options_table().read(check, at, job.spec);
  };
  auto metadata = an_object_text(metadata_bytes_max);
  metadata.schema =
      schema::described(std::move(metadata.schema),
                        "any object of at most " + std::to_string(metadata_bytes_max) + " bytes");
  std::vector<json_field<j>> fields{
      field("cluster", &j::cluster, text_kind(name_bytes_max)),
      field("closures", &j::closures, kept(schema::array(schema::ref("Closure")))),
      field("map", &j::map, kept(map_table().schema())),
      {"options", job_options_table().schema(), read_options},
      nested(&j::spec, field("metadata", &s::metadata, std::move(metadata)))};
  for (auto& f : job_fields()) fields.push_back(nested(&j::spec, std::move(f)));
  static json_object<j> const table(
      std::move(fields),
      // A job has closures or a map, or is open. The schema uses `not`, because client generators
      // turn an `anyOf` next to `properties` into separate types.
      boost::json::parse(
          R"({"not":{"anyOf":[{"required":["closures","map"]},{"not":{"anyOf":[{"required":["closures"]},)"
          R"({"required":["map"]},{"required":["open"],"properties":{"open":{"const":true}}}]}}]}})")
          .as_object());
  return table;
}

struct retry_members {
  std::string name;
};

json_object<retry_members> const& retry_table() {
  static json_object<retry_members> const table(
      {field("name", &retry_members::name, text_kind(name_bytes_max))});
  return table;
}

struct per_worker_members {
  per_worker_request request;
  std::optional<json_ref> args, kwargs;
};

json_object<per_worker_members> const& per_worker_table() {
  using p = per_worker_members;
  using r = per_worker_request;
  static json_object<p> const table(
      {nested(&p::request, required("function", &r::function, a_function())),
       nested(&p::request, field("name", &r::name, text_kind(name_bytes_max))),
       nested(&p::request, field("cluster", &r::cluster, text_kind(name_bytes_max))),
       field("args", &p::args, kept(arguments_schema("PlainArgument"))),
       field("kwargs", &p::kwargs, kept(named_arguments_schema("PlainArgument")))});
  return table;
}

}  // namespace

std::vector<schema::named> submission_schemas() {
  return {{"Submission", job_table().schema()},
          {"Closure", closure_table().schema()},
          {"ClosureOptions", closure_options_table().schema()},
          {"Retry", retry_table().schema()},
          {"PerWorkerRequest", per_worker_table().schema()}};
}

void read_closure(json_check& check, json_ref const& item, server::submission& into) {
  closure_members members;
  closure_table().read(check, item, members);
  if (check.failed()) return;
  auto& closure = into.add(members.function);
  closure.extras = into.asking(members.options);
  closure.callable = calling(check, item, members.called, into);
  read_arguments(check, members.args ? &*members.args : nullptr,
                 members.kwargs ? &*members.kwargs : nullptr, closure);
}

void read_closures(json_check& check, json_ref const& list, server::submission& into) {
  if (!check.is(list, json_type::array)) return;
  for (json_walk m(list); m.next() && !check.failed();) read_closure(check, m.value(), into);
}

job_request read_job(json_check& check, json_ref const& body) {
  job_members members;
  job_table().read(check, body, members);
  job_request job{std::move(members.cluster), std::move(members.spec), {}};
  if (check.failed()) return job;
  if (members.closures && members.map)
    check.fail(*members.map, "'closures' and 'map' cannot be combined");
  else if (members.closures)
    read_closures(check, *members.closures, job.closures);
  else if (members.map)
    read_map(check, *members.map, job.closures);
  else if (!job.spec.open)
    check.fail(invalid("closures", "required, unless 'map' is given or 'open' is true"));
  return job;
}

std::string read_retry(json_check& check, json_ref const& body) {
  retry_members members;
  retry_table().read(check, body, members);
  return std::move(members.name);
}

per_worker_request read_per_worker(json_check& check, json_ref const& body) {
  per_worker_members members;
  per_worker_table().read(check, body, members);
  if (check.failed()) return {};
  core::closure_spec builder;
  read_arguments(check, members.args ? &*members.args : nullptr,
                 members.kwargs ? &*members.kwargs : nullptr, builder);
  if (builder.extras)
    check.fail(body,
               "the arguments of a builder cannot contain references, because the builder runs "
               "again on every reconnected worker");
  members.request.args = std::move(builder.args);
  return std::move(members.request);
}

}  // namespace muster::web
