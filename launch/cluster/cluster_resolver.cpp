#include "muster/cluster_resolver.hpp"

#include <cstdlib>

#include "launch/cluster/resolver_text.hpp"

namespace muster {

environment_lookup process_environment() {
  return [](std::string const& name) -> std::optional<std::string> {
    auto const* value = std::getenv(name.c_str());
    if (value == nullptr) return {};
    return value;
  };
}

std::string format_master(std::string const& rpc_layer, std::string const& address) {
  return rpc_layer.empty() ? address : rpc_layer + "://" + address;
}

std::string cluster_resolver::master(std::optional<std::string> type, std::optional<int> id,
                                     std::optional<std::string> layer) {
  // Calls cluster_spec() first, because some resolvers determine this process's task during this
  // call.
  auto const spec = cluster_spec();
  auto const whose = type ? type : task_type();
  auto const which = id ? id : task_id();
  if (!whose || !which) return {};
  return format_master(layer ? *layer : rpc_layer(), spec.task_address(*whose, *which));
}

std::map<std::string, int> cluster_resolver::num_accelerators(std::optional<std::string> type,
                                                              std::optional<int> id) {
  if (!lister_) return {};
  return count_accelerators(lister_(), type, id);
}

std::map<std::string, int> count_accelerators(std::vector<std::string> const& devices,
                                              std::optional<std::string> const& type,
                                              std::optional<int> id) {
  std::map<std::string, int> counts;
  for (auto const& name : devices) {
    auto job_fits = !type, task_fits = !id;
    std::string_view kind;
    for (auto const part : cluster::split(name, '/')) {
      if (type && part == "job:" + *type) job_fits = true;
      if (id && part == "task:" + std::to_string(*id)) task_fits = true;
      if (part.starts_with("device:")) kind = cluster::split(part, ':')[1];
    }
    auto const all = !type || !id;
    if ((all || (job_fits && task_fits)) && !kind.empty() && kind != "CPU" && kind != "XLA_CPU")
      ++counts[std::string(kind)];
  }
  return counts;
}

}  // namespace muster
