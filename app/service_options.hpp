// What the servers and their services are told of the configuration, and what they are called.
#pragma once

#include <string>
#include <vector>

#include "app/configuration.hpp"
#include "server/rpc/coordination/agent_connections.hpp"
#include "server/rpc/coordination/cluster_ports.hpp"
#include "server/rpc/coordination/service.hpp"
#include "web/http/web_options.hpp"

namespace muster::server {

/// REQUIRES: `connections` outlives the ports.
inline cluster_ports_options ports_options_from(configuration const& c,
                                                agent_connections& connections) {
  cluster_ports_options o;
  o.address = c.grpc.address;
  o.port_first = c.cluster_ports.first;
  o.port_last = c.cluster_ports.last;
  o.tls = c.tls.on();
  o.accepted = [&connections](int socket, std::string const& peer) {
    connections.accepted(socket, peer);
  };
  if (!c.clusters.empty()) o.main_cluster = c.clusters.front().name;
  return o;
}

inline std::vector<std::string> service_names(std::vector<std::string> others = {}) {
  others.insert(others.begin(),
                {"muster.v1.WorkerService", "muster.v1.CoordinatorService", "muster.v1.BlobService",
                 coordination_service::name_xla, coordination_service::name_tensorflow});
  return others;
}

/// What both servers are told of the configuration and of the process's descriptors; the rest is
/// the app's.
web::web_options web_options_from(configuration const& c);
net::proxy_rules proxy_rules_from(configuration const& c);
net::accepting_server_options grpc_options_from(configuration const& c);

/// The last lines of a start.
void log_clusters(coordination_hub const& hub, cluster_ports const& ports);
void log_ready(configuration const& c, endpoint const& grpc, endpoint const& http);

}  // namespace muster::server
