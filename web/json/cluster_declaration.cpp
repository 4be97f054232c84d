#include "base/text.hpp"
#include "server/core/coordination/api/coordination_fields.hpp"
#include "web/json/cluster_json.hpp"
#include "web/json/described_json.hpp"

namespace muster::web {

namespace {

constexpr std::size_t job_name_bytes_max = 128;
// The core uses the same pattern.
constexpr std::string_view name_pattern = "^[A-Za-z0-9_.-]{1,128}$";
constexpr std::size_t reason_bytes_max = 2'000;
constexpr std::int64_t tasks_max = 100'000;  // maximum for each job and for all jobs together
constexpr core::duration longest_setting = std::chrono::hours(24 * 365 * 10);

struct declaration {
  coordination::cluster_spec spec;
  std::optional<json_ref> jobs, recoverable_jobs, stateful;
};

void read_jobs(json_check& check, json_ref const& at, coordination::cluster_spec& into) {
  if (!check.is(at, json_type::object)) return;
  std::int64_t tasks = 0;
  for (json_walk m(at); m.next() && !check.failed();) {
    coordination::job_spec job;
    job.name = m.key();
    job.tasks = static_cast<std::uint32_t>(check.integer(m.value(), 1, tasks_max));
    tasks += job.tasks;
    into.jobs.push_back(std::move(job));
  }
  auto const limit = std::to_string(tasks_max) + " tasks";
  if (tasks > tasks_max)
    check.fail(impossible(at.path(), "more than " + limit + " in total", limit));
}

void mark_recoverable(json_check& check, json_ref const& at, coordination::cluster_spec& into) {
  if (!check.is(at, json_type::array)) return;
  for (json_walk names(at); names.next() && !check.failed();) {
    auto const name = check.text(names.value(), job_name_bytes_max);
    bool found = false;
    for (auto& job : into.jobs)
      if (job.name == name) found = job.recoverable = true;
    if (!found && !check.failed())
      check.fail(impossible(names.value().path(), "'" + name + "' is not a role of the cluster"));
  }
}

// Accepts any job name, because the jobs of closure workers are not declared.
void read_stateful(json_check& check, json_ref const& at, coordination::cluster_spec& into) {
  if (!check.is(at, json_type::array)) return;
  auto& jobs = into.stateful_jobs.emplace();
  for (json_walk names(at); names.next() && !check.failed();)
    jobs.push_back(check.text(names.value(), job_name_bytes_max));
}

json_kind<std::string> a_name() {
  auto read = [](json_check& check, json_ref const& at) {
    auto name = check.text(at, 1'024);
    if (name.empty()) check.fail(at, "missing");
    return name;
  };
  return {schema::matching(name_pattern), read, "missing"};
}

json_kind<std::string> a_type() {
  return {schema::one_of({"standalone"}), text_kind(1'024).read};
}

json_kind<core::duration> a_number_of_ms(core::duration longest, bool positive = false) {
  auto const most = std::chrono::duration_cast<std::chrono::milliseconds>(longest).count();
  auto number = integer_kind(positive ? 1 : 0, most);
  auto read = [read = std::move(number.read)](json_check& check, json_ref const& at) {
    return core::duration(std::chrono::milliseconds(read(check, at)));
  };
  return {std::move(number.schema), std::move(read)};
}

template <class M, class V>
json_field<declaration> setting(std::string_view name, M coordination::cluster_spec::*to,
                                json_kind<V> kind) {
  return nested(&declaration::spec, field(name, to, std::move(kind)));
}

// These members are ignored, so that a client can post a response unchanged.
constexpr std::string_view only_in_answers[] = {
    "next_jobs",     "main",        "ends",  "address",
    "torch_address", "torch_store", "tasks", "worker_heartbeat_timeout_ms",
    "generation",    "past"};

json_field<declaration> ignored(std::string_view name) {
  return {name, schema::with(schema::json{}, {{"description", "ignored"}}),
          [](json_check&, json_ref const&, declaration&) {}};
}

json_object<declaration> const& table() {
  using s = coordination::cluster_spec;
  using d = declaration;
  auto const jobs = schema::with(schema::map(schema::integer(1, tasks_max)),
                                 {{"propertyNames", schema::matching(name_pattern)}});
  std::vector<json_field<d>> fields = {
      nested(&d::spec, required("name", &s::name, a_name())),
      setting("type", &s::service_type, a_type()),
      field("jobs", &d::jobs, kept(jobs)),
      field("recoverable_jobs", &d::recoverable_jobs,
            kept(schema::array(schema::text(0, job_name_bytes_max)))),
      field("stateful", &d::stateful, kept(schema::array(schema::matching(name_pattern)))),
      setting("heartbeat_timeout_ms", &s::heartbeat_timeout, a_number_of_ms(longest_setting, true)),
      setting("connection_grace_ms", &s::connection_grace, a_number_of_ms(longest_setting)),
      setting("register_timeout_ms", &s::register_timeout, a_number_of_ms(longest_setting, true)),
      setting("shutdown_timeout_ms", &s::shutdown_timeout, a_number_of_ms(longest_setting)),
      setting("stuck_after_ms", &s::stuck_after, a_number_of_ms(longest_setting, true))};
  for (auto& f : described_fields<s>()) fields.push_back(nested(&d::spec, std::move(f)));
  for (auto const name : only_in_answers) fields.push_back(ignored(name));
  static json_object<d> const all(std::move(fields));
  return all;
}

// Excludes codes with other effects on agents: CANCELLED silently ends a poll, RESOURCE_EXHAUSTED
// makes the agent poll again, and some codes are replies to key-value calls.
json_kind<muster::code> a_failure_code() {
  static constexpr std::array codes{code::aborted, code::internal, code::unavailable, code::unknown,
                                    code::failed_precondition};
  static std::array<std::string_view, codes.size()> const words{
      name(codes[0]), name(codes[1]), name(codes[2]), name(codes[3]), name(codes[4])};
  auto kind = one_of_words(words);
  return {std::move(kind.schema),
          [read = std::move(kind.read)](json_check& check, json_ref const& at) {
            return codes[read(check, at)];
          }};
}

json_object<coordination::fail_cluster> const& failure_table() {
  using e = coordination::fail_cluster;
  auto reason = text_kind(reason_bytes_max);
  reason.schema = schema::text(1, reason_bytes_max);
  reason.missing = "required: the reason why the run failed";
  static json_object<e> const all({required("message", &e::message, reason),
                                   field("code", &e::code, a_failure_code()),
                                   field("refuse_calls", &e::refuses, flag_kind())});
  return all;
}

json_object<coordination::report_error> const& task_error_table() {
  using e = coordination::report_error;
  auto reason = text_kind(reason_bytes_max);
  reason.schema = schema::text(1, reason_bytes_max);
  reason.missing = "required: a description of what went wrong in the task";
  static json_object<e> const all(
      {required("message", &e::message, reason), field("code", &e::code, a_failure_code())});
  return all;
}

}  // namespace

schema::named task_error_schema() {
  return {"TaskError", task_error_table().schema()};
}

coordination::report_error read_task_error(json_check& check, json_ref const& body) {
  coordination::report_error e;
  e.code = code::aborted;
  task_error_table().read(check, body, e);
  if (e.message.empty() && !check.failed())
    check.fail(invalid("message", "must not be empty; describe what went wrong in the task"));
  return e;
}

schema::named cluster_failure_schema() {
  return {"ClusterFailure", failure_table().schema()};
}

coordination::fail_cluster read_cluster_failure(json_check& check, json_ref const& body) {
  coordination::fail_cluster e;
  failure_table().read(check, body, e);
  if (e.message.empty() && !check.failed())
    check.fail(invalid("message", "must not be empty; state why the run failed"));
  return e;
}

schema::named cluster_schema() {
  return {"Cluster", table().schema()};
}

coordination::cluster_spec read_cluster(json_check& check, json_ref const& body) {
  declaration d;
  table().read(check, body, d);
  if (d.jobs && !check.failed()) read_jobs(check, *d.jobs, d.spec);
  if (d.recoverable_jobs && !check.failed()) mark_recoverable(check, *d.recoverable_jobs, d.spec);
  if (d.stateful && !check.failed()) read_stateful(check, *d.stateful, d.spec);
  return std::move(d.spec);
}

}  // namespace muster::web
