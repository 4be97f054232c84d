// The fields of a job and of its closures, each checked as it is read.
#include "web/json/submission_json.hpp"

#include "base/text.hpp"
#include "web/json/arguments.hpp"

namespace muster::web {

namespace {

constexpr std::size_t name_bytes_max = 256;
constexpr std::size_t key_bytes_max = 256;
constexpr std::size_t metadata_bytes_max = 16 * 1024;
constexpr std::size_t function_bytes_max = 256;  // the core has the same limit
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

void parse_resources(json_check& check, json_ref const& at, core::closure_options& o) {
  if (!check.is(at, json_type::object)) return;
  for (json_walk m(at); m.next() && !check.failed();)
    o.resources.emplace_back(m.key(),
                             static_cast<std::uint32_t>(check.integer(m.value(), 1, UINT32_MAX)));
}

core::closure_options parse_closure_options(json_check& check, json_ref const& options) {
  core::closure_options o;
  if (!check.is(options, json_type::object)) return o;
  for (json_walk m(options); m.next() && !check.failed();) {
    auto const key = m.key();
    if (key == "priority") {
      o.priority = static_cast<std::int32_t>(check.integer(m.value(), -1'000'000, 1'000'000));
    } else if (key == "delay") {
      o.delay = parse_span(check, m.value());
    } else if (key == "deadline") {
      o.deadline = parse_span(check, m.value());
    } else if (key == "max_retries") {
      o.max_retries = static_cast<std::uint32_t>(check.integer(m.value(), 0, 10'000));
    } else if (key == "retry_delay") {
      o.retry_initial = parse_span(check, m.value());
    } else if (key == "retry_delay_max") {
      o.retry_max = parse_span(check, m.value());
    } else if (key == "task") {
      parse_task(check, m.value(), o);
    } else if (key == "gang") {
      o.gang = check.text(m.value(), name_bytes_max);
    } else if (key == "labels") {
      parse_labels(check, m.value(), o);
    } else if (key == "resources") {
      parse_resources(check, m.value(), o);
    } else {
      check.unknown(m.value());
    }
  }
  return o;
}

void parse_options(json_check& check, json_ref const& options, core::session_spec& spec) {
  if (!check.is(options, json_type::object)) return;
  for (json_walk m(options); m.next() && !check.failed();) {
    auto const key = m.key();
    if (key == "require_function") {
      spec.require_function = check.flag(m.value());
    } else if (key == "weight") {
      spec.weight = static_cast<std::uint32_t>(check.integer(m.value(), 1, 1'000));
    } else if (key == "deadline") {
      spec.deadline = parse_span(check, m.value());
    } else if (key == "max_worker_failures") {
      auto const n = check.integer(m.value(), 0, UINT32_MAX);
      spec.max_worker_failures = static_cast<std::uint32_t>(n);
      spec.unlimited_worker_failures = n == 0;
    } else {
      check.unknown(m.value());
    }
  }
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
  if (!check.is(item, json_type::object)) return;
  std::string function;
  core::closure_options options;
  std::optional<json_ref> positional, named;
  for (json_walk m(item); m.next() && !check.failed();) {
    auto const key = m.key();
    if (key == "function") {
      function = check.text(m.value(), function_bytes_max);
    } else if (key == "args") {
      positional = m.value();
    } else if (key == "kwargs") {
      named = m.value();
    } else if (key == "options") {
      options = parse_closure_options(check, m.value());
    } else {
      check.unknown(m.value());
    }
  }
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
  if (!check.is(body, json_type::object)) return job;
  bool has_closures = false;
  for (json_walk m(body); m.next() && !check.failed();) {
    auto const key = m.key();
    auto const& at = m.value();
    if (key == "closures" || key == "map") {
      if (has_closures) check.fail(at, "'closures' and 'map' exclude each other and come once");
      has_closures = true;
      key == "map" ? parse_map(check, at, job.closures) : read_closures(check, at, job.closures);
    } else if (key == "name") {
      job.spec.name = check.text(at, name_bytes_max);
    } else if (key == "cluster") {
      parse_cluster(check, at);
    } else if (key == "on_error") {
      job.spec.on_error = parse_on_error(check, at);
    } else if (key == "open") {
      job.spec.open = check.flag(at);
    } else if (key == "options") {
      parse_options(check, at, job.spec);
    } else if (key == "metadata") {
      job.spec.metadata = parse_metadata(check, at);
    } else if (key == "idempotency_key") {
      job.spec.idempotency_key = check.text(at, key_bytes_max);
    } else {
      check.unknown(at);
    }
  }
  if (!has_closures && !job.spec.open && !check.failed())
    check.fail(invalid("closures", "required, unless 'map' is given or 'open' is true"));
  return job;
}

}  // namespace muster::web
