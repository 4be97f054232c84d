#include "server/hub/coordination_hub.hpp"

#include <utility>

namespace muster::server {

namespace coordination = core::coordination;

coordination_hub::coordination_hub(coordination::limits limits,
                                   coordination::service_registry const& types, std::uint64_t seed,
                                   coordination_environment environment)
    : environment_(std::move(environment)), clusters_(limits, types, seed) {}

core::call_id coordination_hub::expect(reply_handler done) {
  auto const call = core::call_id{++last_call_};
  calls_.emplace(call, std::move(done));
  return call;
}

void coordination_hub::forget(coordination::cluster_id cluster, core::call_id call) {
  if (calls_.erase(call) == 0 || !clusters_.exists(cluster)) return;
  deliver(clusters_.call_gone(environment_.now(), cluster, call));
}

muster::result<coordination::cluster_id> coordination_hub::create(coordination::cluster_spec spec) {
  return clusters_.create(environment_.now(), std::move(spec));
}

muster::status coordination_hub::redeclare(coordination::cluster_id cluster,
                                           coordination::cluster_spec spec) {
  auto const done = clusters_.redeclare(environment_.now(), cluster, std::move(spec));
  if (!done) return done.error();
  deliver(done->get());
  return {};
}

muster::status coordination_hub::remove(std::string_view name) {
  auto const removed = clusters_.remove(environment_.now(), name);
  if (!removed) return removed.error();
  deliver(removed->get());
  return {};
}

void coordination_hub::stop() {
  deliver(clusters_.stop(environment_.now()));
}

void coordination_hub::on_deadline() {
  armed_ = core::never;
  deliver(clusters_.tick(environment_.now()));
}

// The handlers may call back into the hub, which makes the core overwrite the effects, so the
// replies are taken out first.
void coordination_hub::deliver(coordination::effects& fx) {
  for (auto const& n : fx.notices) environment_.tell(n);
  auto const deadline = clusters_.next_deadline();
  if (deadline != armed_) {
    armed_ = deadline;
    environment_.arm(deadline);
  }
  if (fx.replies.empty()) return;
  auto replies = std::move(fx.replies);
  for (auto& r : replies)
    if (auto node = calls_.extract(r.call)) node.mapped()(r);
}

}  // namespace muster::server
