// Whose closures a newcomer's call is about: the cluster that it names, or that of the port it came
// over. Engine thread.
#pragma once

#include <string>

#include "server/hub/pools.hpp"
#include "server/rpc/stream_options.hpp"

namespace muster::server {

/// `cluster`: as the message says it. NOT_FOUND: there is none of that name, or the cluster of the
/// port was deleted; RESOURCE_EXHAUSTED.
inline muster::result<hub*> pool_of_call(pools& all, stream_options const& options,
                                         grpc::ServerContext const& context,
                                         std::string const& cluster) {
  if (!cluster.empty() || !options.cluster_of_port) return all.named(cluster);
  auto const c = options.cluster_of_port(context);
  if (!c) return c.error();
  return all.of(*c);
}

}  // namespace muster::server
