// A server for tests: the real core, hub and services on an engine thread of its own, listening on
// a port of 127.0.0.1. What tests look at in the core goes through `on_engine`.
#pragma once

#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <thread>

#include "coro/task_group.hpp"
#include "coro/timer_queue.hpp"
#include "net/accepting_server.hpp"
#include "app/clock.hpp"
#include "server/hub/hub.hpp"
#include "server/rpc/health_service.hpp"
#include "server/rpc/stream_service.hpp"

namespace muster::test {

struct test_server_options {
  core::config core;
  server::stream_options workers;
  server::stream_options sessions;
  int port = 0;
};

inline constexpr int reflection_streams_max = 5;

class test_server {
 public:
  explicit test_server(test_server_options o = {});
  /// Stops in the order the application uses; fails the test if that hangs.
  ~test_server();

  void stop();
  int port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  /// Runs `f(hub&)` on the engine thread and gives its result.
  template <class F>
  auto on_engine(F f) {
    std::promise<decltype(f(*hub_))> done;
    engine_.post([&] { done.set_value(f(*hub_)); });
    return done.get_future().get();
  }
  /// Waits until `f(coordinator&)` holds; it is asked again after 1 ms, since the core announces
  /// nothing. False after 10 s.
  template <class F>
  bool eventually(F f) {
    for (int i = 0; i < 10'000; ++i) {
      if (on_engine([&](server::hub& h) { return f(h.state()); })) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  /// Where the core is durable: all that was said so far is on the disk that is played here.
  void write_all() {
    on_engine([this](server::hub& h) { return line_.on_durable(written_, {}, h.now()), 0; });
  }
  void fail_disk() {
    on_engine([this](server::hub& h) {
      return line_.on_durable(line_.durable(), {code::internal, "no disk"}, h.now()), 0;
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

 private:
  coro::task<void> stop_all();

  server::anchored_clock clock_;
  grpc::ServerBuilder builder_;
  coro::engine_context engine_;
  net::accepting_server server_;
  coro::timer tick_;
  coro::task_group tasks_;
  core::server_wide wide_{core::time_point{}};
  server::durable_line line_;
  std::uint64_t written_ = 0;
  std::unique_ptr<server::hub> hub_;
  std::unique_ptr<server::pools> pools_;
  std::unique_ptr<server::stream_service> workers_, sessions_, reflection_;
  std::unique_ptr<server::health_service> health_;
  std::thread thread_;
  int port_ = 0;
  bool stopped_ = false;
};

}  // namespace muster::test
