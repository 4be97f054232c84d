// Whose closures a newcomer's call is about: the cluster that it names, or that of the port it came
// over. Engine thread.
#pragma once

#include <string>

#include "server/hub/pools.hpp"
#include "server/rpc/call_access.hpp"
#include "server/rpc/stream_options.hpp"

namespace muster::server {

/// `cluster`: as the message says it. NOT_FOUND: there is none of that name, or the cluster of the
/// port was deleted; RESOURCE_EXHAUSTED.
/// PERMISSION_DENIED: the caller's token is bound to others.
inline muster::result<hub*> pool_of_call(pools& all, stream_options const& options,
                                         grpc::ServerContext const& context,
                                         std::string const& cluster) {
  auto const find = [&]() -> muster::result<hub*> {
    if (!options.cluster_of_port) return all.named(cluster);
    auto const c = options.cluster_of_port(context);
    // Also who names a cluster does not come over a port that is for others.
    if (!c && (cluster.empty() || c.error().code == muster::code::failed_precondition))
      return c.error();
    return cluster.empty() ? all.of(*c) : all.named(cluster);
  };
  auto found = find();
  auto const who = caller_of(options.gate, context);
  if (!found || !who || who->clusters.empty()) return found;
  bool const main = (*found)->cluster().empty();
  auto const& name = main ? options.main_cluster : (*found)->cluster();
  if (who->bound_to(name) || (main && who->bound_to("default"))) return found;
  return muster::status{muster::code::permission_denied,
                        "token '" + who->id + "' is not for cluster '" + name + "'"};
}

}  // namespace muster::server
