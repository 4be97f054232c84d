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
  std::optional<json_ref> recoverable_jobs;  // after all jobs are known
  auto const time = [&check](core::duration& into) {
    return [&check, &into](json_ref const& at) { into = read_duration(check, at); };
  };
  auto const flag = [&check](bool& into) {
    return [&check, &into](json_ref const& at) { into = check.flag(at); };
  };
  check.members(body, {{"name", [&](auto& at) { s.name = check.text(at, name_bytes_max); }},
                       {"type", [&](auto& at) { s.service_type = check.text(at, name_bytes_max); }},
                       {"jobs", [&](auto& at) { read_jobs(check, at, s); }},
                       {"recoverable_jobs", [&](auto& at) { recoverable_jobs = at; }},
                       {"heartbeat_timeout", time(s.heartbeat_timeout)},
                       {"connection_grace", time(s.connection_grace)},
                       {"register_timeout", time(s.register_timeout)},
                       {"shutdown_timeout", time(s.shutdown_timeout)},
                       {"stuck_after", time(s.stuck_after)},
                       {"recoverable", flag(s.recoverable)},
                       {"allow_reconnect", flag(s.allow_reconnect)},
                       {"register_barrier", flag(s.register_barrier)},
                       {"renew", flag(s.renew)}});
  if (recoverable_jobs && !check.failed()) mark_recoverable(check, *recoverable_jobs, s);
  if (s.name.empty()) check.fail(invalid("name", "missing"));
  return s;
}

}  // namespace muster::web
