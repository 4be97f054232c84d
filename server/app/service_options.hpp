// What the gRPC services are told of the configuration, and what they are called.
#pragma once

#include <string>
#include <vector>

#include "server/app/configuration.hpp"
#include "server/rpc/coordination/agent_connections.hpp"
#include "server/rpc/coordination/cluster_ports.hpp"
#include "server/rpc/coordination/service.hpp"

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

}  // namespace muster::server
