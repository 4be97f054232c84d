#include "base/text.hpp"
#include "server/core/api/closure_fields.hpp"
#include "server/core/api/config.hpp"
#include "web/json/described_json.hpp"
#include "web/json/submission_json.hpp"

namespace muster::web {

namespace {

constexpr std::size_t option_name_bytes_max = 256;

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
    if (o.task_job.empty())
      check.fail(at, "expected a task such as \"worker:3\", or a role such as \"worker\"");
  };
  return {"task", schema::matching(R"(^(?:[^:]+|[\s\S]+:[0-9]{1,18})$)", option_name_bytes_max),
          read};
}

bool is_job_option(std::string_view name) {
  return name == "require_function" || name == "weight" || name == "deadline";
}

}  // namespace

json_object<core::closure_options> const& closure_options_table() {
  static json_object<core::closure_options> const table = [] {
    auto all = described_fields<core::closure_options>();
    all.push_back(task_field());
    return json_object(std::move(all));
  }();
  return table;
}

json_object<core::session_spec> const& job_options_table() {
  using s = core::session_spec;
  static json_object<s> const table = [] {
    auto all = described_fields<s>();
    std::erase_if(all, [](auto const& f) { return !is_job_option(f.name); });
    auto failures = integer_kind(0, core::worker_failures_max);
    auto read = [read = std::move(failures.read)](json_check& check, json_ref const& at, s& spec) {
      spec.max_worker_failures = static_cast<std::uint32_t>(read(check, at));
      spec.unlimited_worker_failures = spec.max_worker_failures == 0;
    };
    all.push_back({"max_worker_failures", std::move(failures.schema), std::move(read)});
    return json_object(std::move(all));
  }();
  return table;
}

std::vector<json_field<core::session_spec>> job_fields() {
  auto all = described_fields<core::session_spec>();
  std::erase_if(all, [](auto const& f) { return is_job_option(f.name); });
  return all;
}

}  // namespace muster::web
