// Splits --cluster-from into the resolver, its own keys and those that --cluster has too.
#include "cli/cluster_from_flag.hpp"

#include <algorithm>

#include "cli/cluster_flag.hpp"
#include "cli/durations.hpp"
#include "cli/resolver_kinds.hpp"
#include "cluster/text.hpp"

namespace muster::cli {
namespace {

muster::status wrong(std::string const& part, std::string const& what) {
  return {muster::code::invalid_argument, "'" + part + "': " + what};
}

/// Keys that --cluster has not, or has for jobs that it knows; the rest goes into `others`.
muster::status take(server::cluster_source& source, std::string const& part, std::string& name,
                    std::string& others) {
  auto const equals = part.find('=');
  auto const key = part.substr(0, equals);
  auto const value = equals == std::string::npos ? std::string() : part.substr(equals + 1);
  if (key == "name") {
    name = value;
  } else if (key == "every" || key == "timeout") {
    auto const parsed = parse_duration(value);
    auto const is_every = key == "every";
    constexpr duration longest = std::chrono::hours(24 * 365);
    if (!parsed || *parsed > longest || (is_every && *parsed < std::chrono::milliseconds(100)))
      return wrong(part,
                   "write a duration of at most a year, and 100ms at least for every, as in "
                   "every=30s");
    (is_every ? source.every : source.timeout) = *parsed;
  } else if (key == "recoverable" && value != "true" && value != "false") {
    if (value.empty()) return wrong(part, "write true, false or jobs, as in recoverable=ps");
    for (auto const job : cluster::split(value, '+')) source.recoverable_jobs.emplace_back(job);
  } else {
    others += ";" + part;
  }
  return {};
}

}  // namespace

muster::result<server::cluster_source> parse_cluster_from(std::string const& text) {
  server::cluster_source source;
  source.text = text;
  auto const bar = find_outside_json(text, '|');
  std::string name = "default", others;
  if (bar != std::string::npos)
    for (auto const part : cluster::split(std::string_view(text).substr(bar + 1), ';'))
      if (auto const taken = take(source, std::string(part), name, others); !taken.ok())
        return taken;
  auto spec = parse_cluster(name + others);
  if (!spec) {
    auto line = spec.error().message;
    if (line.find("known keys are ") != std::string::npos) line += "; and name, every, timeout";
    return muster::status{muster::code::invalid_argument, line};
  }
  if (!spec->jobs.empty())
    return wrong(name, "a name has no ':'; the resolver says which jobs there are");
  source.declaration = std::move(*spec);
  try {
    source.resolver = known_resolvers().make(text.substr(0, bar));
  } catch (cluster_error const& e) {
    return muster::status{muster::code::invalid_argument, e.what()};
  }
  return source;
}

}  // namespace muster::cli
