#include "cli/cluster_flag.hpp"

#include <algorithm>
#include <charconv>

#include "base/text.hpp"
#include "cli/durations.hpp"
#include "cli/resolver_kinds.hpp"
#include "launch/cluster/resolver_text.hpp"

namespace muster::cli {
namespace {

namespace coordination = core::coordination;
using cluster::split;
using coordination::cluster_spec;

muster::status wrong(std::string_view part, std::string_view what) {
  return {muster::code::invalid_argument, "'" + std::string(part) + "': " + std::string(what)};
}

muster::status add_job(cluster_spec& spec, std::string_view part) {
  auto const equals = part.find('=');
  coordination::job_spec job;
  job.name = std::string(part.substr(0, equals));
  auto const digits = equals == std::string_view::npos ? "" : part.substr(equals + 1);
  auto const* end = digits.data() + digits.size();
  auto const [at, error] = std::from_chars(digits.data(), end, job.tasks);
  if (error != std::errc{} || at != end || job.tasks == 0)
    return wrong(part, "write JOB=N with a number of tasks, as in worker=4");
  spec.jobs.push_back(std::move(job));
  return {};
}

struct duration_key {
  std::string_view name;
  core::duration cluster_spec::*field;
};
constexpr duration_key durations[] = {{"heartbeat_timeout", &cluster_spec::heartbeat_timeout},
                                      {"connection_grace", &cluster_spec::connection_grace},
                                      {"register_timeout", &cluster_spec::register_timeout},
                                      {"shutdown_timeout", &cluster_spec::shutdown_timeout},
                                      {"stuck_after", &cluster_spec::stuck_after}};

struct flag_key {
  std::string_view name;
  bool cluster_spec::*field;
};
constexpr flag_key flags[] = {{"recoverable", &cluster_spec::recoverable},
                              {"allow_reconnect", &cluster_spec::allow_reconnect},
                              {"register_barrier", &cluster_spec::register_barrier},
                              {"renew", &cluster_spec::renew}};

muster::status set_recoverable_jobs(cluster_spec& spec, std::string_view part,
                                    std::string_view names) {
  for (auto const name : split(names, '+')) {
    auto const job = std::find_if(spec.jobs.begin(), spec.jobs.end(),
                                  [&](auto const& j) { return j.name == name; });
    if (job == spec.jobs.end())
      return wrong(part,
                   "'" + std::string(name) + "' is neither true, false nor a job of the cluster");
    job->recoverable = true;
  }
  return {};
}

void set_stateful_jobs(cluster_spec& spec, std::string_view names) {
  auto& jobs = spec.stateful_jobs.emplace();
  if (names.empty()) return;
  for (auto const name : split(names, '+')) jobs.emplace_back(name);
}

/// `more_keys` is appended to the list of known keys in error messages.
muster::status set_key(cluster_spec& spec, std::string_view part, std::string_view more_keys) {
  auto const equals = part.find('=');
  auto const key = part.substr(0, equals);
  auto const value = equals == std::string_view::npos ? "" : part.substr(equals + 1);
  for (auto const& k : durations) {
    if (key != k.name) continue;
    auto const parsed = parse_duration(value);
    if (!parsed) return wrong(part, "write a duration, as in 30s or 5m");
    spec.*k.field = *parsed;
    return {};
  }
  for (auto const& k : flags) {
    if (key != k.name) continue;
    if (value != "true" && value != "false") {
      if (key == "recoverable") return set_recoverable_jobs(spec, part, value);
      return wrong(part, "write true or false");
    }
    spec.*k.field = value == "true";
    return {};
  }
  if (key == "type" && !value.empty()) {
    spec.service_type = std::string(value);
    return {};
  }
  if (key == "error_delivery") {
    auto const how = enumerator_named<coordination::error_delivery>(value);
    if (!how) return wrong(part, "write auto, poll or heartbeat");
    spec.errors = *how;
    return {};
  }
  if (key == "agents") {
    auto const what = enumerator_named<coordination::agent_wire>(value);
    if (!what) return wrong(part, "write plaintext or tls");
    spec.agents = *what;
    return {};
  }
  if (key == "torch") {
    auto const port = muster::parse_number(value);
    if (!port || *port > 65'535)
      return wrong(part, "write a port, as in torch=29500; 0 selects a free port");
    spec.torch_port = static_cast<std::uint16_t>(*port);
    return {};
  }
  if (key == "torch_era") {
    auto const era = enumerator_named<coordination::torch_era>(value);
    if (!era)
      return wrong(
          part,
          "specify A (PyTorch 1.13 or 2.0) or B (2.1); newer versions announce their protocol");
    spec.torch = *era;
    return {};
  }
  if (key == "stateful" && equals != std::string_view::npos) {
    set_stateful_jobs(spec, value);
    return {};
  }
  return wrong(part,
               "known keys are heartbeat_timeout, connection_grace, error_delivery, agents, "
               "register_timeout, shutdown_timeout, stuck_after, recoverable, allow_reconnect, "
               "register_barrier, renew, stateful, torch, torch_era, type" +
                   std::string(more_keys));
}

muster::result<cluster_spec> parse(std::string_view text, std::string_view more_keys) {
  cluster_spec spec;
  auto const parts = split(text, ';');
  auto const colon = parts[0].find(':');
  if (colon == std::string_view::npos && parts[0].find('=') != std::string_view::npos)
    return wrong(parts[0], "write NAME:JOB=N, as in train:" + std::string(parts[0]));
  spec.name = std::string(parts[0].substr(0, colon));
  if (colon != std::string_view::npos)
    for (auto const part : split(parts[0].substr(colon + 1), ','))
      if (auto const added = add_job(spec, part); !added.ok()) return added;
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (auto const set = set_key(spec, parts[i], more_keys); !set.ok()) return set;
  if (auto const valid = validate(spec); !valid.ok()) return valid;
  return spec;
}

/// Handles keys that only --cluster-from has, or to which it gives another meaning. Appends other
/// keys to `others`.
muster::status take(server::cluster_source& source, std::string_view part, std::string& name,
                    std::string& others) {
  auto const equals = part.find('=');
  auto const key = part.substr(0, equals);
  auto const value = equals == part.npos ? "" : part.substr(equals + 1);
  if (key == "name") {
    name = std::string(value);
  } else if (key == "every" || key == "timeout") {
    auto const parsed = parse_duration(value);
    auto const is_every = key == "every";
    constexpr duration longest = std::chrono::hours(24 * 365);
    if (!parsed || *parsed > longest || (is_every && *parsed < std::chrono::milliseconds(100)))
      return wrong(
          part,
          "write a duration of at most a year, as in every=30s; 'every' must be at least 100ms");
    (is_every ? source.every : source.timeout) = *parsed;
  } else if (key == "recoverable" && value != "true" && value != "false") {
    if (value.empty()) return wrong(part, "write true, false or jobs, as in recoverable=ps");
    for (auto const job : cluster::split(value, '+')) source.recoverable_jobs.emplace_back(job);
  } else {
    others += ";" + std::string(part);
  }
  return {};
}

}  // namespace

muster::result<cluster_spec> parse_cluster(std::string_view text) {
  return parse(text, {});
}

muster::result<server::cluster_source> parse_cluster_from(std::string const& text) {
  server::cluster_source source;
  source.text = text;
  auto const bar = find_outside_json(text, '|');
  std::string name = "default", others;
  if (bar != std::string::npos)
    for (auto const part : cluster::split(std::string_view(text).substr(bar + 1), ';'))
      if (auto const taken = take(source, part, name, others); !taken.ok()) return taken;
  auto spec = parse(name + others, "; and name, every, timeout");
  if (!spec) return spec.error();
  if (!spec->jobs.empty())
    return wrong(name, "a name must not contain ':'; the resolver defines the jobs");
  source.declaration = std::move(*spec);
  try {
    source.resolver = known_resolvers().make(text.substr(0, bar));
  } catch (cluster_error const& e) {
    return muster::status{muster::code::invalid_argument, e.what()};
  }
  return source;
}

std::string to_string(cluster_spec const& spec) {
  std::string text = spec.name;
  std::string recoverable;
  for (auto const& j : spec.jobs) {
    text += (&j == &spec.jobs.front() ? ":" : ",") + j.name + "=" + std::to_string(j.tasks);
    if (j.recoverable) recoverable += (recoverable.empty() ? "" : "+") + j.name;
  }
  cluster_spec const fallback;
  for (auto const& k : durations)
    if (spec.*k.field != fallback.*k.field)
      text += ";" + std::string(k.name) + "=" + to_string(spec.*k.field);
  for (auto const& k : flags)
    if (spec.*k.field != fallback.*k.field)
      text += ";" + std::string(k.name) + (spec.*k.field ? "=true" : "=false");
  if (!spec.recoverable && !recoverable.empty()) text += ";recoverable=" + recoverable;
  if (spec.stateful_jobs) {
    text += ";stateful=";
    for (auto const& job : *spec.stateful_jobs)
      text += (&job == &spec.stateful_jobs->front() ? "" : "+") + job;
  }
  if (spec.errors != fallback.errors)
    text += ";error_delivery=" + std::string(coordination::name(spec.errors));
  if (spec.torch_port) text += ";torch=" + std::to_string(*spec.torch_port);
  if (spec.torch != fallback.torch)
    text += ";torch_era=" + std::string(coordination::name(spec.torch));
  if (spec.agents != fallback.agents)
    text += ";agents=" + std::string(coordination::name(spec.agents));
  if (spec.service_type != fallback.service_type) text += ";type=" + spec.service_type;
  return text;
}

}  // namespace muster::cli
