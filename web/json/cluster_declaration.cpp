// The declaration of a cluster, from JSON.
#include "base/text.hpp"
#include "web/json/cluster_json.hpp"

namespace muster::web {

namespace {

constexpr std::size_t name_bytes_max = 1024;  // the core has the finer limit, and says so
constexpr std::int64_t job_tasks_max = 100'000;

core::duration read_duration(json_check& check, json_ref const& at) {
  auto const text = check.text(at, name_bytes_max);
  if (check.failed()) return {};
  if (auto const d = parse_duration(text)) return *d;
  check.fail(at, "expected a duration such as 30s or 250ms, got '" + text + "'");
  return {};
}

void read_jobs(json_check& check, json_ref const& at, coordination::cluster_spec& into) {
  if (!check.is(at, json_type::object)) return;
  for (json_walk m(at); m.next() && !check.failed();) {
    coordination::job_spec job;
    job.name = m.key();
    job.tasks = static_cast<std::uint32_t>(check.integer(m.value(), 1, job_tasks_max));
    into.jobs.push_back(std::move(job));
  }
}

void mark_recoverable(json_check& check, json_ref const& at, coordination::cluster_spec& into) {
  if (!check.is(at, json_type::array)) return;
  for (json_walk names(at); names.next() && !check.failed();) {
    auto const name = check.text(names.value(), name_bytes_max);
    bool found = false;
    for (auto& job : into.jobs)
      if (job.name == name) found = job.recoverable = true;
    if (!found && !check.failed())
      check.fail(names.value(), "'" + name + "' is none of the cluster's jobs");
  }
}

}  // namespace

coordination::cluster_spec read_cluster(json_check& check, json_ref const& body) {
  coordination::cluster_spec s;
  s.name.clear();
  if (!check.is(body, json_type::object)) return s;
  std::optional<json_ref> recoverable_jobs;  // after all jobs are known
  for (json_walk m(body); m.next() && !check.failed();) {
    auto const key = m.key();
    auto const& value = m.value();
    if (key == "name") {
      s.name = check.text(value, name_bytes_max);
    } else if (key == "type") {
      s.service_type = check.text(value, name_bytes_max);
    } else if (key == "jobs") {
      read_jobs(check, value, s);
    } else if (key == "recoverable_jobs") {
      recoverable_jobs = value;
    } else if (key == "heartbeat_timeout") {
      s.heartbeat_timeout = read_duration(check, value);
    } else if (key == "register_timeout") {
      s.register_timeout = read_duration(check, value);
    } else if (key == "shutdown_timeout") {
      s.shutdown_timeout = read_duration(check, value);
    } else if (key == "stuck_after") {
      s.stuck_after = read_duration(check, value);
    } else if (key == "recoverable") {
      s.recoverable = check.flag(value);
    } else if (key == "allow_reconnect") {
      s.allow_reconnect = check.flag(value);
    } else if (key == "register_barrier") {
      s.register_barrier = check.flag(value);
    } else if (key == "renew") {
      s.renew = check.flag(value);
    } else {
      check.unknown(value);
    }
  }
  if (recoverable_jobs && !check.failed()) mark_recoverable(check, *recoverable_jobs, s);
  if (s.name.empty()) check.fail(invalid("name", "missing"));
  return s;
}

}  // namespace muster::web
