#include "muster/cluster_resolver.hpp"

#include <cstdlib>

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
  // Asking comes first: some resolvers learn from it which task this process is.
  auto const spec = cluster_spec();
  auto const whose = type ? type : task_type();
  auto const which = id ? id : task_id();
  if (!whose || !which) return {};
  return format_master(layer ? *layer : rpc_layer(), spec.task_address(*whose, *which));
}

std::map<std::string, int> cluster_resolver::num_accelerators(std::optional<std::string>,
                                                              std::optional<int>) {
  return {};
}

std::optional<std::string> cluster_resolver::task_type() {
  return task_type_;
}

std::optional<int> cluster_resolver::task_id() {
  return task_id_;
}

}  // namespace muster
