#include "tests/support/test_server.hpp"

#include <sys/socket.h>

#include <limits>
#include <random>

#include "server/net/loopback_pair.hpp"

namespace muster::test {

coordination::cluster_spec workers(std::uint32_t tasks) {
  coordination::cluster_spec spec;
  spec.jobs.push_back({"worker", tasks, false});
  return spec;
}

net::accepting_server_options test_server::server_options() {
  net::accepting_server_options o;
  o.request_bytes_max = 1 << 30;
  o.response_bytes_max = std::numeric_limits<int>::max();
  o.accepted = [this](int socket, std::string const& peer, auto const&) {
    connections_->accepted(socket, peer);
  };
  return o;
}

std::function<void(core::time_point)> test_server::arm(coro::timer& t, std::function<void()> then) {
  return [this, &t, then = std::move(then)](core::time_point at) {
    t.cancel();
    if (at != core::never) t.call_at(clock_.to_steady(at), then);
  };
}

void test_server::make_hubs(core::config const& c) {
  server::coordination_dependencies agents;
  agents.now = [this] { return clock_.now(); };
  agents.arm = arm(agents_due_, [this] { agents_->on_deadline(); });
  agents.tell = [](server::log_event const&) {};
  agents_ = std::make_unique<server::coordination_hub>(coordination::limits{},
                                                       std::random_device{}(), std::move(agents));
  programs_ = std::make_unique<server::program_clusters>(
      *agents_, server::program_clusters::dependencies{
                    .tell = [](server::log_event const&) {},
                    .remove =
                        [this](std::string const& name) {
                          engine_.post([this, name] { EXPECT_TRUE(agents_->remove(name).ok()); });
                        }});
  server::hub_dependencies closures;
  closures.now = [this] { return clock_.now(); };
  closures.arm = arm(closures_due_, [this] { hub_->on_deadline(); });
  if (c.durable) {
    closures.journal.write = [this](auto const&) { commits_.wrote(++written_); };
    closures.journal.commits = &commits_;
  }
  closures.programs.clusters = programs_.get();
  hub_ = std::make_unique<server::hub>(c, std::move(closures));
  pools_ = std::make_unique<server::pools>(*hub_, wide_);
}

test_server::test_server(test_server_options o)
    : engine_(builder_.AddCompletionQueue()),
      server_(engine_, builder_, server_options()),
      closures_due_(engine_),
      agents_due_(engine_),
      tasks_(engine_.get_executor(), 8,
             [](std::string_view, std::exception_ptr e) { std::rethrow_exception(e); }) {
  make_hubs(o.core);
  workers_ = server::serve_workers(*pools_, server_, o.workers);
  sessions_ = server::serve_sessions(*pools_, server_, o.sessions);
  if (!o.clusters.empty()) o.ports.main_cluster = o.clusters.front().name;
  ports_ = std::make_unique<server::cluster_ports>(*agents_, server_, o.ports);
  connections_ = std::make_unique<server::agent_connections>(engine_, *agents_);
  coordination_ = server::serve_coordination(*agents_, *ports_, *connections_, server_, o.agents);
  tunnels_ = server::serve_tunnels(*pools_, *agents_, *ports_, server_, o.tunnels);
  // Sends a description of the store instead of its data.
  tunnels_->dial_stores_by([](auto, auto, auto const&, std::uint32_t rank) {
    auto pair = net::loopback_pair();
    auto const said = "store of rank " + std::to_string(rank);
    if (!pair || ::send(pair->served.get(), said.data(), said.size(), 0) < 0)
      throw std::runtime_error("no socket");
    return muster::result<file_descriptor>(std::move(pair->dialled));
  });
  programs_->on_change([this](core::program_id id) { tunnels_->judge(id); });
  for (auto& spec : o.clusters) {
    auto const id = agents_->create(std::move(spec));
    if (!id || !ports_->open(*id)) throw std::runtime_error("the cluster could not be declared");
  }
  health_ = server::serve_health(server_);
  health_->set_serving(true);
  reflection_ = server::serve_reflection(
      server_, {"muster.v1.WorkerService", "muster.v1.CoordinatorService", "grpc.health.v1.Health"},
      reflection_streams_max);
  server_.add_port("127.0.0.1:" + std::to_string(o.port));
  auto const started = server_.start();
  if (!started) throw std::runtime_error(started.error);
  port_ = started.ports.at(0);
  ports_->set_main_address(address());
  thread_ = std::thread([this] { engine_.run(); });
}

test_server::~test_server() {
  stop();
}

std::string test_server::address(std::string const& cluster) {
  return on_engine([&](inside& s) { return s.ports.address(*s.agents.state().find(cluster)); });
}

std::size_t test_server::parked_calls() {
  return on_engine([](inside& s) { return s.run().parked_calls(); });
}

bool test_server::parked(std::size_t calls) {
  return eventually([&](inside& s) { return s.run().parked_calls() == calls; });
}

void test_server::stop() {
  if (std::exchange(stopped_, true)) return;
  engine_.post([this] { tasks_.spawn("stop", stop_all()); });
  thread_.join();
}

coro::task<void> test_server::stop_all() {
  EXPECT_EQ(agents_->state().violated_invariant(), "");
  agents_->stop();
  ports_->stop();
  co_await reflection_->stop();
  co_await health_->stop();
  co_await sessions_->stop();
  co_await tunnels_->stop();
  co_await workers_->stop();
  co_await server_.stop(std::chrono::milliseconds(500));
  EXPECT_EQ(hub_->state().violated_invariant(), "");
  closures_due_.cancel();
  agents_due_.cancel();
  engine_.close();
}

}  // namespace muster::test
