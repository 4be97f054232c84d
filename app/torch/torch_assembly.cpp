#include "app/torch/torch_assembly.hpp"

#include <spdlog/spdlog.h>

#include "server/torch/declared.hpp"
#include "server/torch/sockets/torch_server.hpp"

namespace muster::server {
namespace {

namespace coordination = core::coordination;

log_event event_of(torch::store_incident const& told) {
  using kind = torch::incident::kind;
  using coordination::severity;
  struct words {
    severity how;
    std::string_view name;
  };
  constexpr words of[] = {{severity::info, "torch_attempt_began"},
                          {severity::warning, "torch_refused"},
                          {severity::info, "torch_rank_left"},
                          {severity::warning, "torch_rank_left"}};
  auto const& w = of[static_cast<unsigned>(told.what.what)];
  static_assert(static_cast<unsigned>(kind::rank_left_waiting) == 3);
  return {w.how, std::string(w.name), told.cluster, told.what.about, told.what.text};
}

class served_stores : public torch_assembly {
 public:
  served_stores(engine_assembly& engine, perimeter& p, store_assembly& store,
                tunnel_service& tunnels);

  torch::torch_stores* stores() override { return &stores_; }
  void open() override;
  void start() override;
  void stop() override { stores_.stop(); }

 private:
  torch::torch_server_options options(perimeter& p);
  torch::carried_store store_of(core::program_id program, std::uint32_t ranks);

  engine_assembly& engine_;
  coordination_hub& hub_;
  server::pools& pools_;
  torch::torch_server stores_;
};

served_stores::served_stores(engine_assembly& engine, perimeter& p, store_assembly& store,
                             tunnel_service& tunnels)
    : engine_(engine), hub_(store.coordination()), pools_(store.pools()), stores_(options(p)) {
  using coordination::cluster_id;
  auto const number = [](cluster_id c) { return static_cast<std::uint64_t>(c); };
  store.of_programs().set_store_hooks(
      {[this, number](cluster_id c, core::program_id program, std::uint32_t ranks) {
         stores_.begin(number(c), store_of(program, ranks));
       },
       [this, number](cluster_id c) { stores_.close(number(c)); }});
  tunnels.dial_stores_by(
      [this, number](cluster_id c, core::program_id program, std::string peer, std::uint32_t rank) {
        return stores_.dial(number(c), store_of(program, 0), std::move(peer), rank);
      });
}

// The settings for torch 2.1 clients depend on the cluster in which the program runs.
torch::carried_store served_stores::store_of(core::program_id program, std::uint32_t ranks) {
  auto pool = pools_.of(program).cluster();
  auto const cluster = hub_.state().find(pool.empty() ? main_cluster_of(engine_.config) : pool);
  auto const early =
      cluster ? torch::store_at(hub_.state().spec(*cluster), 0).early : torch::numbering::a;
  return {core::text(program), ranks, early};
}

torch::torch_server_options served_stores::options(perimeter& p) {
  torch::torch_server_options o;
  o.address = engine_.config.grpc.address;
  o.limits.connections = share_of_files(o.limits.connections, 4);
  if (auto from = parse_networks(engine_.config.torch.from)) o.from = std::move(*from);
  o.now = [this] { return engine_.clock.now(); };
  o.tell = [this](torch::store_incident told) {
    engine_.context().post(
        [this, told = std::move(told)] { engine_.add_log_event(event_of(told)); });
  };
  o.out_of_descriptors = p.out_of_descriptors();
  o.failed = [](std::string const& what) {
    spdlog::error("a part of the server failed, stopping part={}", what);
    request_stop();
  };
  return o;
}

void served_stores::open() {
  auto const& c = engine_.config;
  for (auto const cluster : hub_.state().ids()) {
    auto const& spec = hub_.state().spec(cluster);
    auto where = torch::declared_store(spec);
    bool const main = spec.name == main_cluster_of(c);
    if (main && c.torch.listen)
      where = torch::store_at(spec, c.torch.listen->port, c.torch.listen->address);
    if (!where) continue;
    auto const address = stores_.open(static_cast<std::uint64_t>(cluster), spec.name, *where);
    if (!address)
      throw start_error((main && c.torch.listen ? std::string("--torch") : "cluster " + spec.name) +
                        ": " + address.error().message);
    spdlog::info("torch cluster={} store={}", spec.name, *address);
  }
}

void served_stores::start() {
  stores_.start([](std::function<void()> work) { return named_thread("torch", std::move(work)); });
}

}  // namespace

std::unique_ptr<torch_assembly> make_torch_assembly(engine_assembly& engine, perimeter& p,
                                                    store_assembly& store,
                                                    tunnel_service& tunnels) {
  return std::make_unique<served_stores>(engine, p, store, tunnels);
}

}  // namespace muster::server
