#include "cli/cloud_resolvers.hpp"

#include "launch/cluster/resolver_text.hpp"
#include "muster/cloud_resolver_kinds.hpp"
#include "muster/tpu_resolver.hpp"

namespace muster::cli {

namespace json = boost::json;

namespace {

tpu_resolver& tpu_of(cluster_resolver& r) {
  auto* const tpu = dynamic_cast<tpu_resolver*>(&r);
  if (!tpu) throw cluster::invalid("--health works only for a TPU, such as 'tpu:name=NAME'");
  return *tpu;
}

}  // namespace

void add_cloud_kinds(resolver_kinds& to) {
  add_cloud_resolver_kinds(to);
}

tpu_health health_of(cluster_resolver& resolver) {
  auto& tpu = tpu_of(resolver).tpu();
  auto const node = tpu.node();
  return {{{"name", tpu.name().name},
           {"state", node.state},
           {"health", node.health},
           {"health_description", node.health_description},
           {"recoverable", tpu.recoverable(node)},
           {"accelerator_type", node.accelerator_type},
           {"runtime_version", node.runtime_version},
           {"endpoints", json::array(node.endpoints.begin(), node.endpoints.end())}},
          node.is_healthy()};
}

void wait_until_healthy(cluster_resolver& resolver, std::chrono::milliseconds limit,
                        std::chrono::milliseconds interval) {
  tpu_of(resolver).tpu().wait_for_healthy(limit, interval);
}

std::optional<found_coordinator> coordinator_beside_tpu(cluster_resolver& resolver) {
  auto* const tpu = dynamic_cast<tpu_resolver*>(&resolver);
  if (!tpu) return {};
  auto const address = tpu->coordinator_address();
  if (address.empty())
    throw cluster::missing("the TPU has no coordinator; add coordinator_name=NAME");
  return found_coordinator{address, tpu->coordination_leader()};
}

}  // namespace muster::cli
