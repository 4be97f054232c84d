#include "client/distribute/inputs.hpp"

#include <cstdlib>

#include "muster/cluster_error.hpp"
#include "muster/cluster_rules.hpp"
#include "muster/tf_config.hpp"

namespace muster::distribute {
namespace {

cluster_error invalid(std::string const& line) {
  return {cluster_error::code::invalid, line};
}

void take_cluster_of(tf_config const& config, inputs& in) {
  in.cluster = config.cluster;
  if (!config.has_task) return;
  if (config.task_type) in.task_type = config.task_type;
  if (config.task_index) in.task_id = config.task_index;
  if (!in.task_id && !in.is_client())
    throw invalid("TF_CONFIG: task.index is missing; set it to 0 or greater, or pass a task id");
}

void take_resolver(cluster_resolver& r, inputs& in) {
  in.task_type = r.task_type();
  in.task_id = r.task_id();
  if (auto const layer = r.rpc_layer(); !layer.empty()) in.rpc_layer = layer;
  in.environment = r.environment();
  in.cluster = r.cluster_spec();
}

void check(inputs const& in, coordinator_mode mode) {
  if (in.cluster.empty()) return;
  if (mode == coordinator_mode::independent_worker && in.is_client())
    throw invalid("task_type is '" + in.task_type.value_or("") +
                  "', but an independent worker must be a chief, worker, ps or evaluator");
  if (in.is_client())
    validate_cluster(in.cluster);
  else
    validate_cluster(in.cluster, in.task_type, in.task_id);
}

}  // namespace

inputs resolve_inputs(strategy const& s, distribute_options const& o) {
  auto const config = tf_config::from(o.environment);
  inputs in;
  in.task_type = o.task_type;
  in.task_id = o.task_id;
  in.rpc_layer = config.rpc_layer.value_or(o.rpc_layer);
  in.environment = config.environment.value_or("");
  if (o.cluster && !o.cluster->empty())
    in.cluster = *o.cluster;
  else
    take_cluster_of(config, in);
  if (in.cluster.empty())
    if (auto const resolver = s.resolver()) take_resolver(*resolver, in);
  if (in.task_type && in.task_type->empty()) in.task_type.reset();
  in.config = o.session_config.value_or(session_config::default_config());
  check(in, o.mode);
  return in;
}

std::string server_of_environment(std::string const& given) {
  auto const* variable = std::getenv("MUSTER_COORDINATOR");
  return given.empty() && variable ? variable : given;
}

}  // namespace muster::distribute

namespace muster {

coordinator_mode parse_coordinator_mode(std::string_view text) {
  if (text == "standalone_client") return coordinator_mode::standalone_client;
  if (text == "independent_worker") return coordinator_mode::independent_worker;
  throw cluster_error(cluster_error::code::invalid,
                      "unexpected coordinator mode '" + std::string(text) +
                          "'; write standalone_client or independent_worker");
}

std::string_view to_string(coordinator_mode mode) {
  return mode == coordinator_mode::standalone_client ? "standalone_client" : "independent_worker";
}

}  // namespace muster
