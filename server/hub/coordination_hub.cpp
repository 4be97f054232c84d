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

// Gives what came of a declaration.
status coordination_hub::deliver(coordination::effects& fx) {
  auto declared = std::move(fx.declared);
  for (auto& r : fx.remarks)
    environment_.tell({r.severity, std::string(name(r.kind)), std::move(r.cluster),
                       std::move(r.about), std::move(r.text)});
  alarm_.follow(clusters_.next_deadline(), environment_.arm);
  bool const changed = !fx.facts.empty();
  if (changed) line_.wrote(environment_.write_down(std::move(fx.facts)));
  if (fx.replies.empty()) return declared;
  if (line_.idle() && !(changed && !line_.failed().ok())) {
    calls_.deliver(std::move(fx.replies));
    return declared;
  }
  line_.hold(changed, [this, replies = std::move(fx.replies)](status const& lost) mutable {
    for (auto& r : replies) {
      if (lost.ok()) break;
      r.fault = coordination::refusal(lost.code, lost.message, false);
      r.body = {};
    }
    calls_.deliver(std::move(replies));
  });
  return declared;
}

std::optional<coordination_hub::durability> coordination_hub::durable() const {
  if (!environment_.write_down) return {};
  return durability{line_.written(), line_.durable(), line_.failed_since(), line_.failed().message,
                    environment_.store()};
}

void coordination_hub::refuse(core::call_id call, muster::status const& why) {
  std::vector<coordination::reply> replies;
  replies.push_back({call, coordination::refusal(why.code, why.message, false), {}});
  calls_.deliver(std::move(replies));
}

}  // namespace muster::server
