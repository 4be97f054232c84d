#include "tests/rpc/test_server.hpp"

namespace muster::test {

test_server::test_server(test_server_options o)
    : engine_(builder_.AddCompletionQueue()),
      server_(engine_, builder_),
      tick_(engine_),
      tasks_(engine_.get_executor(), 8,
             [](std::string_view, std::exception_ptr e) { std::rethrow_exception(e); }) {
  server::hub_environment environment;
  environment.now = [this] { return clock_.now(); };
  environment.arm = [this](core::time_point at) {
    tick_.call_at(clock_.to_steady(at), [this] { hub_->on_deadline(); });
  };
  if (o.core.durable) {
    environment.write_down = [this](auto const&) { line_.wrote(++written_); };
    environment.line = &line_;
  }
  hub_ = std::make_unique<server::hub>(o.core, std::move(environment));
  pools_ = std::make_unique<server::pools>(*hub_, wide_);
  workers_ = server::serve_workers(*pools_, server_, o.workers);
  sessions_ = server::serve_sessions(*pools_, server_, o.sessions);
  health_ = server::serve_health(server_);
  health_->set_serving(true);
  reflection_ = server::serve_reflection(
      server_, {"muster.v1.WorkerService", "muster.v1.CoordinatorService", "grpc.health.v1.Health"},
      reflection_streams_max);
  server_.add_port("127.0.0.1:" + std::to_string(o.port));
  auto const started = server_.start();
  if (!started) throw std::runtime_error(started.error);
  port_ = started.ports.at(0);
  thread_ = std::thread([this] { engine_.run(); });
}

test_server::~test_server() {
  stop();
}

void test_server::stop() {
  if (std::exchange(stopped_, true)) return;
  engine_.post([this] { tasks_.spawn("stop", stop_all()); });
  thread_.join();
}

coro::task<void> test_server::stop_all() {
  co_await reflection_->stop();
  co_await health_->stop();
  co_await sessions_->stop();
  co_await workers_->stop();
  co_await server_.stop(std::chrono::milliseconds(200));
  EXPECT_EQ(hub_->state().violated_invariant(), "");
  tick_.cancel();
  engine_.close();
}

}  // namespace muster::test
