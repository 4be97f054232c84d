#include "tests/support/coordination_server.hpp"

#include <limits>
#include <random>

namespace muster::test {

coordination::cluster_spec workers(std::uint32_t tasks) {
  coordination::cluster_spec spec;
  spec.jobs.push_back({"worker", tasks, false});
  return spec;
}

coordination_server::coordination_server(coordination::cluster_spec spec)
    : coordination_server(
          {.clusters = {std::move(spec)}, .limits = {}, .service = {}, .ports = {}, .port = 0}) {}

namespace {
std::size_t parked_calls_of_first(coordination_server::inside& s) {
  return s.hub.state().current(s.hub.state().ids().front()).parked_calls();
}
}  // namespace

net::accepting_server_options coordination_server::server_options() {
  net::accepting_server_options o;
  o.request_bytes_max = 1 << 30;
  o.response_bytes_max = std::numeric_limits<int>::max();
  o.accepted = [this](int socket, std::string const& peer, auto const&) {
    connections_->accepted(socket, peer);
  };
  return o;
}

coordination_server::coordination_server(coordination_server_options o)
    : engine_(builder_.AddCompletionQueue()),
      server_(engine_, builder_, server_options()),
      tick_(engine_),
      tasks_(engine_.get_executor(), 8,
             [](std::string_view, std::exception_ptr e) { std::rethrow_exception(e); }) {
  server::coordination_environment environment;
  environment.now = [this] { return clock_.now(); };
  environment.arm = [this](core::time_point at) {
    tick_.cancel();
    if (at != core::never) tick_.call_at(clock_.to_steady(at), [this] { hub_->on_deadline(); });
  };
  environment.tell = [](server::notice const&) {};
  hub_ = std::make_unique<server::coordination_hub>(o.limits, std::random_device{}(),
                                                    std::move(environment));
  if (!o.clusters.empty()) o.ports.main_cluster = o.clusters.front().name;
  ports_ = std::make_unique<server::cluster_ports>(*hub_, server_, o.ports);
  connections_.emplace(engine_, *hub_);
  service_ = server::serve_coordination(*hub_, *ports_, *connections_, server_, o.service);
  for (auto& spec : o.clusters) {
    auto const id = hub_->create(std::move(spec));
    if (!id || !ports_->open(*id)) throw std::runtime_error("the cluster could not be declared");
  }
  server_.add_port("127.0.0.1:" + std::to_string(o.port));
  auto const started = server_.start();
  if (!started) throw std::runtime_error(started.error);
  port_ = started.ports.at(0);
  ports_->set_main_address(address());
  thread_ = std::thread([this] { engine_.run(); });
}

coordination_server::~coordination_server() {
  stop();
}

std::string coordination_server::address(std::string const& cluster) {
  return on_engine([&](inside& s) { return s.ports.address(*s.hub.state().find(cluster)); });
}

std::size_t coordination_server::parked_calls() {
  return on_engine([](inside& s) { return parked_calls_of_first(s); });
}

bool coordination_server::parked(std::size_t calls) {
  return eventually([&](inside& s) { return parked_calls_of_first(s) == calls; });
}

void coordination_server::stop() {
  if (std::exchange(stopped_, true)) return;
  EXPECT_EQ(on_engine([](inside& s) { return s.hub.state().violated_invariant(); }), "");
  engine_.post([this] { tasks_.spawn("stop", stop_all()); });
  thread_.join();
}

coro::task<void> coordination_server::stop_all() {
  hub_->stop();
  ports_->stop();
  co_await server_.stop(std::chrono::milliseconds(500));
  tick_.cancel();
  engine_.close();
}

}  // namespace muster::test
