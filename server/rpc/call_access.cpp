#include "server/rpc/call_access.hpp"

#include "server/hub/access/gate.hpp"
#include "server/hub/access/token_text.hpp"
#include "server/hub/pools.hpp"
#include "server/net/tls_credentials.hpp"
#include "server/rpc/coordination/cluster_ports.hpp"
#include "server/rpc/status_convert.hpp"
#include "server/rpc/stream_service.hpp"

namespace muster::server {

std::string_view credential_of(grpc::ServerContext const& context) {
  auto const& metadata = context.client_metadata();
  auto const it = metadata.find("authorization");
  return it == metadata.end() ? std::string_view()
                              : bearer_of({it->second.data(), it->second.size()});
}

std::string address_of(std::string const& peer) {
  auto text = readable_peer(peer);
  text.resize(std::min(text.rfind(':'), text.size()));
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  constexpr std::string_view mapped = "::ffff:";
  if (text.starts_with(mapped)) text.erase(0, mapped.size());
  return text;
}

coro::admission admit(gate& g, grpc::ServerContext const& context, cluster_ports const& ports,
                      int permission, std::string const& method) {
  auto const needs = static_cast<core::permission>(permission);
  coro::admission a;
  if (!g.required() || needs == core::permission::nothing) return a;
  if (auto const who = g.known(credential_of(context), needs)) {
    a.credential = who->id;
    return a;
  }
  auto const address = address_of(ports.peer_of(context));
  auto const certificate = net::certificate_name(context);
  auto v = g.judge({credential_of(context), address, method, needs, certificate});
  if (!v.status.ok()) a.status = to_grpc(v.status);
  if (v.who) a.credential = v.who->id;
  a.delay = v.delay;
  a.place = std::move(v.place);
  return a;
}

agent_admission admit_agent(gate& g, std::vector<network> const& trusted,
                            grpc::ServerContext const& context, std::string const& address,
                            std::string const& cluster, bool again) {
  if (!g.required()) return {};
  auto const credential = credential_of(context);
  if (credential.empty() && any_contains(trusted, address)) return {};
  auto const certificate = net::certificate_name(context);
  auto v = g.judge({credential, address, "an agent of cluster '" + cluster + "'",
                    core::permission::coordinate, certificate, again});
  if (v.status.ok() && v.who && !v.who->bound_to(cluster))
    return {{code::permission_denied,
             "token '" + v.who->id + "' is not valid for cluster '" + cluster + "'"}};
  if (v.status.ok()) return {{}, v.who ? v.who->id : std::string()};
  if (!credential.empty()) return {v.status};
  return {{code::unauthenticated,
           "agents without a token are accepted only from the networks of --agents-from, and '" +
               address + "' is in none of them"}};
}

core::caller caller_of(gate const* g, grpc::ServerContext const& context) {
  if (!g || !g->required()) return nullptr;
  auto const credential = credential_of(context);
  return g->who(credential, credential.empty() ? net::certificate_name(context) : std::string());
}

muster::result<hub*> pool_of_call(pools& all, stream_options const& options,
                                  grpc::ServerContext const& context, std::string const& cluster) {
  auto const find = [&]() -> muster::result<hub*> {
    if (!options.cluster_of_port) return all.named(cluster);
    auto const c = options.cluster_of_port(context);
    // A call to an agents' plaintext port is rejected even if the call names a cluster.
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
                        "token '" + who->id + "' is not valid for cluster '" + name + "'"};
}

}  // namespace muster::server
