// A coordination service for tests: the real core, hub, ports and gRPC layer on an engine thread of
// its own, on a port of 127.0.0.1.
#pragma once

#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "coro/task_group.hpp"
#include "coro/timer_queue.hpp"
#include "net/accepting_server.hpp"
#include "app/clock.hpp"
#include "server/hub/coordination_hub.hpp"
#include "server/rpc/coordination/cluster_ports.hpp"
#include "server/rpc/coordination/service.hpp"

namespace muster::test {

namespace coordination = core::coordination;

struct coordination_server_options {
  std::vector<coordination::cluster_spec> clusters;  ///< the first has the main port
  coordination::limits limits;
  server::coordination_service_options service;
  server::cluster_ports_options ports;
  int port = 0;
};

/// A cluster "default" with one job "worker".
coordination::cluster_spec workers(std::uint32_t tasks);

class coordination_server {
 public:
  explicit coordination_server(coordination_server_options o);
  explicit coordination_server(coordination::cluster_spec spec);
  /// Stops, checks the core's invariants.
  ~coordination_server();

  /// Answers every parked call and ends, as the application does.
  void stop();
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  int port() const { return port_; }
  /// Of a cluster by name.
  std::string address(std::string const& cluster);

  struct inside {
    server::coordination_hub& hub;
    server::cluster_ports& ports;
    server::coordination_service& service;
  };
  /// Runs `f(inside&)` on the engine thread and gives its result.
  template <class F>
  auto on_engine(F f) {
    inside all{*hub_, *ports_, *service_};
    std::promise<decltype(f(all))> done;
    engine_.post([&] { done.set_value(f(all)); });
    return done.get_future().get();
  }
  /// Waits until `f(inside&)` holds; asks again after 1 ms, since the core announces nothing.
  /// False after 10 s.
  template <class F>
  bool eventually(F f) {
    for (int i = 0; i < 10'000; ++i) {
      if (on_engine([&](inside& s) { return f(s); })) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  /// Of the first cluster.
  std::size_t parked_calls();
  /// Waits until so many calls of the first cluster are parked.
  bool parked(std::size_t calls);

 private:
  coro::task<void> stop_all();
  net::accepting_server_options server_options();

  server::anchored_clock clock_;
  grpc::ServerBuilder builder_;
  coro::engine_context engine_;
  net::accepting_server server_;
  coro::timer tick_;
  coro::task_group tasks_;
  std::unique_ptr<server::coordination_hub> hub_;
  std::unique_ptr<server::cluster_ports> ports_;
  std::optional<server::agent_connections> connections_;
  std::unique_ptr<server::coordination_service> service_;
  std::thread thread_;
  int port_ = 0;
  bool stopped_ = false;
};

}  // namespace muster::test
