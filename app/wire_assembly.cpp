#include "app/wire_assembly.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <limits>

#include "base/version.hpp"
#include "server/hub/id_parsing.hpp"
#include "server/net/tls_credentials.hpp"

namespace muster::server {
namespace {

using namespace std::chrono_literals;

// Limits for the steps of stopping. Together with HTTP's limit, they are below the default
// --stop-timeout.
constexpr auto stream_grace = 2s;
constexpr auto grpc_grace = 1s;

std::vector<std::string> service_names(std::vector<std::string> others = {}) {
  others.insert(others.begin(),
                {"muster.v1.WorkerService", "muster.v1.TunnelService",
                 "muster.v1.CoordinatorService", "muster.v1.BlobService",
                 coordination_service::name_xla, coordination_service::name_tensorflow});
  return others;
}

cluster_ports_options ports_options_from(configuration const& c, agent_connections& connections) {
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

void log_clusters(coordination_hub const& hub, cluster_ports const& ports) {
  for (auto const cluster : hub.state().ids()) {
    auto const& spec = hub.state().spec(cluster);
    spdlog::info("cluster name={} tasks={} coordination={}", spec.name, spec.size(),
                 ports.address(cluster));
  }
}

}  // namespace

wire_assembly::wire_assembly(engine_assembly& engine, perimeter& p, store_assembly& store,
                             access& entry)
    : engine_(engine),
      perimeter_(p),
      store_(store),
      access_(entry),
      connections_(engine.context(), store.coordination()),
      grpc_(engine.context(), engine.builder(), server_options()),
      ports_(store.coordination(), grpc_, ports_options_from(engine.config, connections_)),
      workers_(serve_workers(store.pools(), grpc_, streams())),
      sessions_(serve_sessions(store.pools(), grpc_, streams())),
      blob_calls_(serve_blobs(store.blobs(), grpc_, &entry.gate())),
      agents_(serve_coordination(store.coordination(), ports_, connections_, grpc_,
                                 {.admit =
                                      [this](auto const& context, auto const& cluster, bool again) {
                                        return access_.admit_agent(context, ports_, cluster, again);
                                      }})),
      tunnels_(serve_tunnels(store.pools(), store.coordination(), ports_, grpc_)),
      health_(serve_health(grpc_, {.services = service_names()})),
      reflection_(serve_reflection(grpc_, service_names({"grpc.health.v1.Health"}))) {
  store.of_programs().on_change([this](core::program_id id) { tunnels_->judge(id); });
  grpc_.refuse_unknown_methods();
  if (engine.config.is_read_only()) return;
  auto const address = to_string(engine.config.grpc);
  if (auto const* files = p.tls())
    grpc_.add_tls_port(address,
                       net::tls_server_credentials(*files, engine.config.tls.client_required));
  else
    grpc_.add_port(address);
}

net::accepting_server_options wire_assembly::server_options() {
  net::accepting_server_options o;
  o.listener.proxies = perimeter_.relays();
  // Key-values can have gRPC's maximum size. Streams have their own limits.
  o.request_bytes_max = 1 << 30;
  o.response_bytes_max = std::numeric_limits<int>::max();
  auto& waiting = o.listener.waiting;
  waiting.all_max = share_of_files(waiting.all_max, 4);
  waiting.per_address_max = share_of_files(waiting.per_address_max, 8);
  o.listener.out_of_descriptors = perimeter_.out_of_descriptors();
  o.listener.manager = &perimeter_.manager();
  access_.guard(o, ports_);
  o.accepted = [this](int socket, std::string const& peer, std::string const& client) {
    connections_.accepted(socket, peer);
    ports_.accepted_on_main(socket, peer, client);
  };
  return o;
}

stream_options wire_assembly::streams() {
  stream_options o;
  o.finish_grace = stream_grace;
  o.server_incarnation = [this] {
    auto const stored = store_.data().identity();
    return stored ? stored : engine_.incarnation;
  };
  o.server_version = version();
  o.blobs = &store_.blobs();
  o.gate = &access_.gate();
  o.main_cluster = main_cluster_of(engine_.config);
  o.cluster_of_port = [this](auto const& context) { return ports_.pool_of(context); };
  return o;
}

connection_counts wire_assembly::connections() {
  auto c = grpc_.listener().counts();
  auto const g = grpc_.guarded();
  c.held_bytes = g.held_bytes;
  c.memory_max = g.memory_max;
  c.header_block = g.header_block;
  c.before_token = g.before_token;
  c.memory = g.memory;
  return c;
}

endpoint wire_assembly::open() {
  bool const looks = engine_.config.is_read_only();
  auto const& clusters = store_.coordination().state();
  auto ids = clusters.ids();
  // Clusters that had a port before are opened first, so that no other cluster takes the port.
  std::stable_partition(ids.begin(), ids.end(), [&](auto c) { return clusters.port(c) != 0; });
  for (auto const cluster : ids) {
    if (looks) break;
    if (parse_program(clusters.spec(cluster).name)) continue;  // reached only through tunnels
    if (auto const address = ports_.open(cluster); !address)
      throw start_error("--cluster-ports: " + address.error().message);
  }
  auto const grpc = grpc_.start();
  if (!grpc) throw start_error("--grpc: " + grpc.error);
  if (looks) return {};
  endpoint const bound{engine_.config.grpc.address, static_cast<std::uint16_t>(grpc.ports.at(0))};
  ports_.set_main_address(to_string(bound));
  perimeter_.manager().drop_rest();
  health_->set_serving(true);
  log_clusters(store_.coordination(), ports_);
  return bound;
}

void wire_assembly::close() {
  health_->set_serving(false);
  ports_.stop();
}

void wire_assembly::end_all_of(std::string const& token) {
  grpc_.end_calls_of(token);
  agents_->judge_calls_of(token);
}

coro::task<void> wire_assembly::stop() {
  co_await tunnels_->stop();
  co_await workers_->stop();
  co_await sessions_->stop();
  co_await blob_calls_->stop();
  co_await reflection_->stop();
  co_await health_->stop();
  co_await grpc_.stop(grpc_grace);
}

}  // namespace muster::server
