// Requests in, replies and notices out.
#include "server/hub/coordination_hub.hpp"

#include <utility>

namespace muster::server {

namespace coordination = core::coordination;

coordination_hub::coordination_hub(coordination::limits limits, std::uint64_t seed,
                                   coordination_environment environment)
    : environment_(std::move(environment)), clusters_(limits, seed) {}

void coordination_hub::forget(coordination::cluster_id cluster, core::call_id call) {
  if (calls_.forget(call) && clusters_.exists(cluster))
    apply(coordination::call_gone{cluster, call});
}

result<coordination::cluster_id> coordination_hub::create(coordination::cluster_spec spec) {
  auto& fx = clusters_.step(environment_.now(), coordination::create_cluster{std::move(spec)});
  auto const id = fx.cluster;
  if (auto const done = deliver(fx); !done.ok()) return done;
  return id;
}

status coordination_hub::redeclare(coordination::cluster_id cluster,
                                   coordination::cluster_spec spec) {
  return apply(coordination::redeclare_cluster{cluster, std::move(spec)});
}

status coordination_hub::remove(std::string_view name) {
  return apply(coordination::remove_cluster{std::string(name)});
}

void coordination_hub::stop() {
  apply(coordination::stop{});
}

void coordination_hub::on_deadline() {
  alarm_.rang();
  apply(coordination::tick{});
}

// Gives what came of a declaration.
status coordination_hub::deliver(coordination::effects& fx) {
  auto declared = std::move(fx.declared);
  for (auto& r : fx.remarks)
    environment_.tell({r.severity, std::string(name(r.kind)), std::move(r.cluster),
                       std::move(r.about), std::move(r.text)});
  alarm_.follow(clusters_.next_deadline(), environment_.arm);
  if (!fx.replies.empty()) calls_.deliver(std::move(fx.replies));
  return declared;
}

}  // namespace muster::server
