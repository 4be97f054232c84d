#include "muster/sagemaker_resolver.hpp"

#include <algorithm>

#include "launch/cluster/json_text.hpp"
#include "launch/cluster/resolver_text.hpp"

namespace muster {
namespace {

using cluster::invalid;
using cluster::quoted;

std::string needed(environment_lookup const& environment, std::string const& name) {
  if (auto const text = environment(name)) return *text;
  throw cluster::missing(name + " is not set: this process is not in a SageMaker training job");
}

std::vector<std::string> hosts_from(std::string const& text) {
  auto const v = cluster::parse_json(text, "SM_HOSTS");
  auto const wrong = [](std::string const& what) {
    return invalid("SM_HOSTS: " + what + ", such as [\"algo-1\", \"algo-2\"]");
  };
  if (!v.is_array())
    throw wrong("the value is " + std::string(cluster::kind_name(v)) +
                ", not a list of host names");
  std::vector<std::string> hosts;
  for (auto const& host : v.get_array()) {
    if (!host.is_string() || host.get_string().empty())
      throw wrong("entry " + std::to_string(hosts.size()) + " is not a host name");
    hosts.emplace_back(host.get_string());
  }
  std::sort(hosts.begin(), hosts.end());
  auto const twice = std::adjacent_find(hosts.begin(), hosts.end());
  if (twice != hosts.end()) throw invalid("SM_HOSTS: " + quoted(*twice) + " is listed twice");
  return hosts;
}

}  // namespace

sagemaker_resolver::sagemaker_resolver(environment_lookup environment, int port, overrides o)
    : tf_config_resolver(std::move(environment), std::move(o)), port_(port) {
  if (port < 1 || port > 65535)
    throw invalid("port: " + std::to_string(port) + ", must be between 1 and 65535");
}

tf_config sagemaker_resolver::load() const {
  auto const hosts = hosts_from(needed(variables(), "SM_HOSTS"));
  auto const current = needed(variables(), "SM_CURRENT_HOST");
  auto const own = std::find(hosts.begin(), hosts.end(), current);
  tf_config c;
  if (own == hosts.end()) return c;
  muster::cluster_spec::tasks workers;
  for (auto const& host : hosts)
    workers.emplace_hint(workers.end(), static_cast<int>(workers.size()),
                         host + ":" + std::to_string(port_));
  try {
    c.cluster = muster::cluster_spec(muster::cluster_spec::job_map{{"worker", std::move(workers)}});
  } catch (cluster_error const& e) {
    throw invalid(std::string("SM_HOSTS: ") + e.what());
  }
  c.task_type = "worker";
  c.task_index = static_cast<int>(own - hosts.begin());
  c.has_cluster = c.has_task = true;
  return c;
}

}  // namespace muster
