#include "muster/tf_config_resolver.hpp"

#include "launch/cluster/task_rules.hpp"

namespace muster {

tf_config_resolver::tf_config_resolver(environment_lookup environment, overrides o)
    : environment_lookup_(std::move(environment)), layer_(std::move(o.rpc_layer)) {
  task_type_ = std::move(o.task_type);
  task_id_ = o.task_id;
  environment_ = std::move(o.environment);
}

// Applies the overrides before the check, because an index that is invalid for the type in
// TF_CONFIG can be valid for the overriding type.
tf_config tf_config_resolver::checked() const {
  auto c = load();
  if (task_type_) c.task_type = task_type_;
  if (task_id_) c.task_index = task_id_;
  c.check();
  return c;
}

muster::cluster_spec tf_config_resolver::cluster_spec() {
  return checked().cluster;
}

std::string tf_config_resolver::master(std::optional<std::string> type, std::optional<int> id,
                                       std::optional<std::string> layer) {
  auto const c = checked();
  if (c.session_master) return *c.session_master;
  if (c.cluster.size() <= 1 && c.cluster.jobs().size() <= 1) return {};
  auto const& whose = type ? type : c.task_type;
  auto const which = id ? id : c.task_index;
  if (!whose || !which) return {};
  return format_master(layer ? *layer : rpc_layer(), c.cluster.task_address(*whose, *which));
}

std::map<std::string, int> tf_config_resolver::num_accelerators(std::optional<std::string> type,
                                                                std::optional<int> id) {
  return cluster_resolver::num_accelerators(type ? type : task_type(), id ? id : task_id());
}

}  // namespace muster
