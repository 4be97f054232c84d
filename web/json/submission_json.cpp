// The fields of a job and of its closures, each checked as it is read.
#include "web/json/submission_json.hpp"

#include "base/text.hpp"
#include "web/json/arguments.hpp"

namespace muster::web {

namespace {

constexpr std::size_t name_bytes_max = 256;
constexpr std::size_t key_bytes_max = 256;
constexpr std::size_t metadata_bytes_max = 16 * 1024;
constexpr std::size_t function_bytes_max = 256;   // the core has the same limit
constexpr std::int64_t priority_max = 1'000'000;  // and its negative
constexpr std::string_view a_function = "the name of a function";

core::duration parse_span(json_check& check, json_ref const& at) {
  auto const text = check.text(at, 64);
  if (check.failed()) return {};
  if (auto const d = parse_duration(text)) return *d;
  check.fail(at, "expected a duration like \"30s\" or \"250ms\"");
  return {};
}

// "worker:3", or "worker" for any task of the job.
void parse_task(json_check& check, json_ref const& at, core::closure_options& o) {
  auto const text = check.text(at, name_bytes_max);
  auto const colon = text.rfind(':');
  o.task_job = text.substr(0, colon);
  if (colon != std::string::npos) {
    auto const index = parse_number(std::string_view(text).substr(colon + 1));
    if (index && *index <= INT64_MAX)
      o.task_index = static_cast<std::int64_t>(*index);
    else
      o.task_job.clear();
  }
  if (o.task_job.empty()) check.fail(at, "expected a task such as \"worker:3\", or a job");
}

void parse_labels(json_check& check, json_ref const& at, core::closure_options& o) {
  if (!check.is(at, json_type::object)) return;
  for (json_walk m(at); m.next() && !check.failed();)
    o.labels.emplace_back(m.key(), check.text(m.value(), name_bytes_max));
}

std::uint32_t count(json_check& check, json_ref const& at, std::uint32_t min, std::uint32_t max) {
  return static_cast<std::uint32_t>(check.integer(at, min, max));
}

void parse_resources(json_check& check, json_ref const& at, core::closure_options& o) {
  if (!check.is(at, json_type::object)) return;
  for (json_walk m(at); m.next() && !check.failed();)
    o.resources.emplace_back(m.key(), count(check, m.value(), 1, UINT32_MAX));
}

core::closure_options parse_closure_options(json_check& check, json_ref const& options) {
  core::closure_options o;
  check.members(options,
                {{"priority",
                  [&](auto& at) {
                    o.priority =
                        static_cast<std::int32_t>(check.integer(at, -priority_max, priority_max));
                  }},
                 {"delay", [&](auto& at) { o.delay = parse_span(check, at); }},
                 {"deadline", [&](auto& at) { o.deadline = parse_span(check, at); }},
                 {"max_retries", [&](auto& at) { o.max_retries = count(check, at, 0, 10'000); }},
                 {"retry_delay", [&](auto& at) { o.retry_initial = parse_span(check, at); }},
                 {"retry_delay_max", [&](auto& at) { o.retry_max = parse_span(check, at); }},
                 {"task", [&](auto& at) { parse_task(check, at, o); }},
                 {"gang", [&](auto& at) { o.gang = check.text(at, name_bytes_max); }},
                 {"labels", [&](auto& at) { parse_labels(check, at, o); }},
                 {"resources", [&](auto& at) { parse_resources(check, at, o); }}});
  return o;
}

void parse_options(json_check& check, json_ref const& options, core::session_spec& spec) {
  check.members(options,
                {{"require_function", [&](auto& at) { spec.require_function = check.flag(at); }},
                 {"weight", [&](auto& at) { spec.weight = count(check, at, 1, 1'000); }},
                 {"deadline", [&](auto& at) { spec.deadline = parse_span(check, at); }},
                 {"max_worker_failures", [&](auto& at) {
                    spec.max_worker_failures = count(check, at, 0, UINT32_MAX);
                    spec.unlimited_worker_failures = spec.max_worker_failures == 0;
                  }}});
}

void parse_map(json_check& check, json_ref const& map, server::submission& into) {
  if (!check.is(map, json_type::object)) return;
  std::string function;
  core::closure_options options;
  for (json_walk m(map); m.next() && !check.failed();) {
    if (m.key() == "function") function = check.text(m.value(), function_bytes_max);
    if (m.key() == "options") options = parse_closure_options(check, m.value());
  }
  if (function.empty() && !check.failed()) check.missing(map, "function", a_function);
  auto const asked = into.asking(options);
  bool has_args = false;
  for (json_walk m(map); m.next() && !check.failed();) {
    auto const key = m.key();
    if (key == "function" || key == "options") continue;
    if (key != "args" || has_args) {
      check.unknown(m.value());
    } else if (check.is(m.value(), json_type::array)) {
      has_args = true;
      for (json_walk list(m.value()); list.next() && !check.failed();) {
        auto& closure = into.add(function);
        closure.extras = asked;
        read_arguments(check, &list.value(), nullptr, closure);
      }
    }
  }
  if (!has_args && !check.failed()) check.missing(map, "args", "an array of argument arrays");
}

core::on_error parse_on_error(json_check& check, json_ref const& at) {
  auto const text = check.text(at, name_bytes_max);
  if (text == "continue") return core::on_error::continue_all;
  if (text != "fail_fast") check.fail(at, "expected \"fail_fast\" or \"continue\"");
  return core::on_error::fail_fast;
}

void parse_cluster(json_check& check, json_ref const& at) {
  auto const name = check.text(at, name_bytes_max);
  if (check.failed() || name == "default") return;
  auto p =
      make_problem(404, muster::code::not_found, "cluster: there is no cluster '" + name + "'");
  p.field = at.path();
  check.fail(std::move(p));
}

std::string parse_metadata(json_check& check, json_ref const& at) {
  if (!check.is(at, json_type::object)) return {};
  if (at.text().size() <= metadata_bytes_max) return std::string(at.text());
  auto const limit = std::to_string(metadata_bytes_max) + " bytes";
  check.fail(at, "has " + std::to_string(at.text().size()) + " bytes, the limit is " + limit,
             limit);
  return {};
}

}  // namespace

void read_closure(json_check& check, json_ref const& item, server::submission& into) {
  std::string function;
  core::closure_options options;
  std::optional<json_ref> positional, named;
  check.members(item,
                {{"function", [&](auto& at) { function = check.text(at, function_bytes_max); }},
                 {"args", [&](auto& at) { positional = at; }},
                 {"kwargs", [&](auto& at) { named = at; }},
                 {"options", [&](auto& at) { options = parse_closure_options(check, at); }}});
  if (check.failed()) return;
  auto& closure = into.add(function);
  closure.extras = into.asking(options);
  read_arguments(check, positional ? &*positional : nullptr, named ? &*named : nullptr, closure);
  if (function.empty() && !check.failed()) check.missing(item, "function", a_function);
}

void read_closures(json_check& check, json_ref const& list, server::submission& into) {
  if (!check.is(list, json_type::array)) return;
  for (json_walk m(list); m.next() && !check.failed();) read_closure(check, m.value(), into);
}

job_request read_job(json_check& check, json_ref const& body) {
  job_request job;
  auto& spec = job.spec;
  bool has_closures = false;
  auto const first_closures = [&](json_ref const& at) {
    if (has_closures) check.fail(at, "'closures' and 'map' exclude each other and come once");
    has_closures = true;
  };
  check.members(body, {{"closures",
                        [&](auto& at) {
                          first_closures(at);
                          read_closures(check, at, job.closures);
                        }},
                       {"map",
                        [&](auto& at) {
                          first_closures(at);
                          parse_map(check, at, job.closures);
                        }},
                       {"name", [&](auto& at) { spec.name = check.text(at, name_bytes_max); }},
                       {"cluster", [&](auto& at) { parse_cluster(check, at); }},
                       {"on_error", [&](auto& at) { spec.on_error = parse_on_error(check, at); }},
                       {"open", [&](auto& at) { spec.open = check.flag(at); }},
                       {"options", [&](auto& at) { parse_options(check, at, spec); }},
                       {"metadata", [&](auto& at) { spec.metadata = parse_metadata(check, at); }},
                       {"idempotency_key",
                        [&](auto& at) { spec.idempotency_key = check.text(at, key_bytes_max); }}});
  if (!has_closures && !job.spec.open && !check.failed())
    check.fail(invalid("closures", "required, unless 'map' is given or 'open' is true"));
  return job;
}

}  // namespace muster::web
