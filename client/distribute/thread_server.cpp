// The ways to start the server of a task, at most one for each thread.
#include "client/distribute/thread_server.hpp"

#include "muster/cluster_error.hpp"
#include "muster/cluster_rules.hpp"
#include "muster/distribute_coordinator.hpp"
#include "muster/tf_config.hpp"

namespace muster {
namespace distribute {
namespace {

struct kept {
  standard_server_config config;  // with the whole cluster
  std::shared_ptr<standard_server> server;
};

thread_local std::optional<kept> mine;

char const* difference(standard_server_config const& a, standard_server_config const& b) {
  if (a.cluster != b.cluster) return "cluster";
  if (a.task_type != b.task_type || a.task_id != b.task_id) return "task";
  if (a.session != b.session) return "session configuration";
  if (a.rpc_layer != b.rpc_layer) return "rpc layer";
  if (a.environment != b.environment) return "environment";
  return nullptr;
}

}  // namespace

std::shared_ptr<standard_server> server_of_this_thread(standard_server_config c,
                                                       standard_server_factory const& make) {
  if (mine) {
    if (auto const* what = difference(mine->config, c))
      throw cluster_error(cluster_error::code::invalid,
                          "this thread runs the server of " + mine->config.task_type + ":" +
                              std::to_string(mine->config.task_id) + " already, with another " +
                              what + "; end_standard_server_of_this_thread() ends it");
    return mine->server;
  }
  auto seen = c;
  seen.cluster = split_for_evaluator(c.cluster, c.task_type);
  auto server = make(seen);
  server->start();
  mine = kept{std::move(c), server};
  return server;
}

}  // namespace distribute

void end_standard_server_of_this_thread() {
  if (distribute::mine) distribute::mine->server->stop();
  distribute::mine.reset();
}

std::shared_ptr<standard_server> run_standard_server(standard_server_options o) {
  auto const config = tf_config::from(o.environment);
  auto const missing = [](std::string const& line) {
    return cluster_error(cluster_error::code::missing, "TF_CONFIG: " + line);
  };
  if (!config.has_cluster) throw missing("\"cluster\" is not found");
  if (!config.has_task) throw missing("\"task\" is not found");
  if (!config.task_type) throw missing("\"type\" is not found in \"task\"");
  bool const chief = config.cluster.has_job("chief");
  if (!chief && !config.cluster.has_job("worker"))
    throw missing("the cluster must have chief or worker jobs");
  auto const index = config.task_index.value_or(0);
  validate_cluster(config.cluster, config.task_type, index);
  auto session = o.session.value_or(session_config());
  session.collective_group_leader =
      chief ? "/job:chief/replica:0/task:0" : "/job:worker/replica:0/task:0";
  return distribute::server_of_this_thread(
      {config.cluster, *config.task_type, index, std::move(session),
       config.rpc_layer.value_or("grpc"), config.environment.value_or("")},
      o.servers);
}

void start_server(cluster_resolver& resolver, std::string const& protocol,
                  standard_server_factory const& servers) {
  auto const type = resolver.task_type().value_or("");
  if (type != "worker" && type != "ps")
    throw cluster_error(cluster_error::code::invalid,
                        "task_type is '" + type + "': only a worker or a ps starts a server");
  auto const index = resolver.task_id().value_or(0);
  auto const cluster = resolver.cluster_spec();
  auto const layer = protocol.empty() ? resolver.rpc_layer() : protocol;
  auto const server = servers({split_for_evaluator(cluster, type),
                               type,
                               index,
                               {},
                               layer.empty() ? "grpc" : layer,
                               resolver.environment()});
  server->start();
  server->join();
}

}  // namespace muster
