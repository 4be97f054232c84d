// A server for tests: the real cores, hubs and gRPC services on an engine thread and a port of
// 127.0.0.1. Inspect its state only through `on_engine`.
#pragma once

#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "app/clock.hpp"
#include "coro/task_group.hpp"
#include "coro/timer_queue.hpp"
#include "server/core/queries/closure_queries.hpp"
#include "server/core/queries/function_queries.hpp"
#include "server/core/queries/session_queries.hpp"
#include "server/core/queries/value_queries.hpp"
#include "server/core/queries/worker_queries.hpp"
#include "server/hub/coordination_hub.hpp"
#include "server/hub/hub.hpp"
#include "server/net/accepting_server.hpp"
#include "server/rpc/coordination/cluster_ports.hpp"
#include "server/rpc/coordination/coordination_service.hpp"
#include "server/rpc/health_service.hpp"
#include "server/rpc/stream_service.hpp"
#include "server/rpc/workers/rank_tunnels.hpp"

namespace muster::test {

namespace coordination = core::coordination;

struct test_server_options {
  core::config core = {};
  server::stream_options workers = {};
  server::stream_options sessions = {};
  std::vector<coordination::cluster_spec> clusters = {};  ///< the first cluster has the main port
  server::coordination_service_options agents = {};
  server::cluster_ports_options ports = {};
  server::tunnel_options tunnels = {};
  int port = 0;
};

inline constexpr int reflection_streams_max = 5;

/// Returns a cluster "default" with one role "worker".
coordination::cluster_spec workers(std::uint32_t tasks);

class test_server {
 public:
  explicit test_server(test_server_options o = {});
  explicit test_server(coordination::cluster_spec spec)
      : test_server(test_server_options{.clusters = {std::move(spec)}}) {}
  /// Stops in the application's order and checks the cores' invariants. Fails the test if stopping
  /// hangs.
  ~test_server();

  /// Answers every parked call.
  void stop();
  int port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string address(std::string const& cluster);

  struct inside {
    server::hub& closures;
    server::coordination_hub& agents;
    server::cluster_ports& ports;
    server::coordination_service& service;

    /// Returns the service of the first cluster.
    coordination::service const& run() const {
      return agents.state().current(agents.state().ids().front());
    }
  };
  /// Runs `f(hub&)` or `f(inside&)` on the engine thread.
  template <class F>
  auto on_engine(F f) {
    auto const call = [&] {
      inside all{*hub_, *agents_, *ports_, *coordination_};
      if constexpr (std::is_invocable_v<F, server::hub&>)
        return f(*hub_);
      else
        return f(all);
    };
    std::promise<decltype(call())> done;
    engine_.post([&] { done.set_value(call()); });
    return done.get_future().get();
  }
  /// Polls `f(coordinator&)` or `f(inside&)` every millisecond. Returns false after 10 s.
  template <class F>
  bool eventually(F f) {
    for (int i = 0; i < 10'000; ++i) {
      if (on_engine([&](inside& s) -> bool {
            if constexpr (std::is_invocable_v<F, core::coordinator const&>)
              return f(s.closures.state());
            else
              return f(s);
          }))
        return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }

  /// Marks all reported changes as written to the simulated disk.
  void write_all() { write_up_to(written()); }
  /// Returns the number of the last batch that was given to the journal.
  std::uint64_t written() {
    return on_engine([this](server::hub&) { return written_; });
  }
  void write_up_to(std::uint64_t batch) {
    on_engine([this, batch](server::hub& h) { return commits_.on_durable(batch, {}, h.now()), 0; });
  }
  void fail_disk() {
    on_engine([this](server::hub& h) {
      return commits_.on_durable(commits_.durable(), {code::internal, "no disk"}, h.now()), 0;
    });
  }
  void set_serving(bool serving) {
    on_engine([&](server::hub&) { return health_->set_serving(serving), 0; });
  }
  std::size_t connected() {
    return on_engine([](server::hub& h) { return h.state().overview(h.now()).tasks_connected; });
  }
  std::string violated_invariant() {
    return on_engine([](server::hub& h) { return h.state().violated_invariant(); });
  }
  /// Counts calls of the first cluster.
  std::size_t parked_calls();
  bool parked(std::size_t calls);

 private:
  std::function<void(core::time_point)> arm(coro::timer& t, std::function<void()> then);
  void make_hubs(core::config const& c);
  coro::task<void> stop_all();
  net::accepting_server_options server_options();

  server::anchored_clock clock_;
  grpc::ServerBuilder builder_;
  coro::engine_context engine_;
  net::accepting_server server_;
  coro::timer closures_due_, agents_due_;
  coro::task_group tasks_;
  core::server_wide wide_{core::time_point{}};
  server::commit_queue commits_;
  std::uint64_t written_ = 0;
  std::unique_ptr<server::coordination_hub> agents_;
  std::unique_ptr<server::program_clusters> programs_;
  std::unique_ptr<server::hub> hub_;
  std::unique_ptr<server::pools> pools_;
  std::unique_ptr<server::cluster_ports> ports_;
  std::unique_ptr<server::agent_connections> connections_;
  std::unique_ptr<server::coordination_service> coordination_;
  std::unique_ptr<server::stream_service> workers_, sessions_, reflection_;
  std::unique_ptr<server::tunnel_service> tunnels_;
  std::unique_ptr<server::health_service> health_;
  std::thread thread_;
  int port_ = 0;
  bool stopped_ = false;
};

}  // namespace muster::test
