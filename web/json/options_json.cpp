// What closures and jobs may be asked for besides running, as tables.
#include "base/text.hpp"
#include "server/core/api/config.hpp"
#include "web/json/submission_json.hpp"

namespace muster::web {

namespace {

constexpr std::size_t option_name_bytes_max = 256;
constexpr std::int64_t option_priority_max = 1'000'000;  // and its negative
constexpr std::size_t option_names_max = 64;  // of labels and resources; checked by the core
constexpr core::duration option_time_max = std::chrono::hours(24 * 365);

schema::json named_values(schema::json values) {
  return schema::map(std::move(values), schema::text(1, option_name_bytes_max), option_names_max);
}

// "worker:3", or "worker" for any task of the job.
json_field<core::closure_options> task_field() {
  auto read = [](json_check& check, json_ref const& at, core::closure_options& o) {
    auto const text = check.text(at, option_name_bytes_max);
    auto const colon = text.rfind(':');
    o.task_job = text.substr(0, colon);
    if (colon != std::string::npos) {
      auto const index = parse_task_index(std::string_view(text).substr(colon + 1));
      if (index)
        o.task_index = *index;
      else
        o.task_job.clear();
    }
    if (o.task_job.empty()) check.fail(at, "expected a task such as \"worker:3\", or a job");
  };
  return {"task", schema::matching(R"(^(?:[^:]+|[\s\S]+:[0-9]{1,18})$)", option_name_bytes_max),
          read};
}

json_field<core::closure_options> labels_field() {
  auto read = [](json_check& check, json_ref const& at, core::closure_options& o) {
    if (!check.is(at, json_type::object)) return;
    for (json_walk m(at); m.next() && !check.failed();)
      o.labels.emplace_back(m.key(), check.text(m.value(), option_name_bytes_max));
  };
  return {"labels", named_values(schema::text(0, option_name_bytes_max)), read};
}

json_field<core::closure_options> resources_field() {
  auto const amount = an_integer(1, UINT32_MAX);
  auto read = [amount](json_check& check, json_ref const& at, core::closure_options& o) {
    if (!check.is(at, json_type::object)) return;
    for (json_walk m(at); m.next() && !check.failed();)
      o.resources.emplace_back(m.key(), static_cast<std::uint32_t>(amount.read(check, m.value())));
  };
  return {"resources", named_values(amount.schema), read};
}

}  // namespace

json_object<core::closure_options> const& closure_options_table() {
  using o = core::closure_options;
  static json_object<o> const table(
      {field("priority", &o::priority, an_integer(-option_priority_max, option_priority_max)),
       field("delay", &o::delay, a_duration(option_time_max)),
       field("deadline", &o::deadline, a_duration(option_time_max)),
       field("max_retries", &o::max_retries, an_integer(0, 10'000)),
       field("retry_delay", &o::retry_initial, a_duration(option_time_max)),
       field("retry_delay_max", &o::retry_max, a_duration(option_time_max)), task_field(),
       field("gang", &o::gang, a_text(option_name_bytes_max)), labels_field(), resources_field()});
  return table;
}

json_object<core::session_spec> const& job_options_table() {
  using s = core::session_spec;
  auto const failures = an_integer(0, core::worker_failures_max);
  auto read = [failures](json_check& check, json_ref const& at, s& spec) {
    spec.max_worker_failures = static_cast<std::uint32_t>(failures.read(check, at));
    spec.unlimited_worker_failures = spec.max_worker_failures == 0;
  };
  static json_object<s> const table({field("require_function", &s::require_function, a_flag()),
                                     field("weight", &s::weight, an_integer(1, 1'000)),
                                     field("deadline", &s::deadline, a_duration(option_time_max)),
                                     {"max_worker_failures", failures.schema, read}});
  return table;
}

}  // namespace muster::web
