// Clients that reset calls rapidly are disconnected, logged and counted, and others are served.
// Floods of silent connections are reported by address.
#include <gtest/gtest.h>

#include "tests/e2e/cluster.hpp"
#include "tests/support/rapid_resets.hpp"

namespace muster::e2e {
namespace {

void expect_cut(cluster const& c, std::string const& method) {
  test::rapid_resets flood(c.grpc());
  ASSERT_TRUE(flood.connected());
  flood.begin_and_reset(method, 2'000);
  EXPECT_TRUE(flood.ends()) << method;
}

TEST(floods, stream_resets_close_only_their_own_connection) {
  cluster c;
  c.serve();
  c.worker();
  ASSERT_TRUE(c.await_tasks(1));
  test::rapid_resets few(c.grpc());
  EXPECT_TRUE(few.begin_and_reset("/grpc.health.v1.Health/Check", 300));
  expect_cut(c, "/muster.v1.CoordinatorService/Session");
  expect_cut(c, "/no.Service/None");
  EXPECT_FALSE(few.is_cut());
  auto const metrics = c.text("/metrics");
  EXPECT_EQ(metrics.find("muster_grpc_connections_cut_total 0\n"), std::string::npos) << metrics;
  auto const events = c.text("/api/v1/events");
  EXPECT_NE(events.find("connection_cut"), std::string::npos) << events;
  EXPECT_EQ(c.tasks().size(), 1u);
  EXPECT_TRUE(c.await_tasks(1));
}

// gRPC reads only such a connection as long as data arrives.
TEST(floods, reset_flood_closes_the_connection) {
  cluster c;
  c.serve();
  c.worker();
  ASSERT_TRUE(c.await_tasks(1));
  for (std::string const method : {"/muster.v1.CoordinatorService/Session",
                                   "/grpc.health.v1.Health/Check", "/no.Service/None"}) {
    test::rapid_resets flood(c.grpc());
    ASSERT_TRUE(flood.connected());
    auto const end = std::chrono::steady_clock::now() + 20s;
    while (flood.begin_and_reset(method, 1'000) && std::chrono::steady_clock::now() < end) {
    }
    EXPECT_LT(std::chrono::steady_clock::now(), end) << method;
    EXPECT_TRUE(c.await_tasks(1));
  }
  EXPECT_EQ(c.text("/api/v1/events").find("worker_lost"), std::string::npos);
}

TEST(floods, silent_connections_are_reported_by_address) {
  cluster c;
  c.serve();
  auto const floods = [&] {
    std::string const metrics = c.text("/metrics"), name = "\nmuster_silent_floods_total ";
    auto const at = metrics.find(name);
    return at == std::string::npos ? -1 : std::stoi(metrics.substr(at + name.size()));
  };
  ASSERT_EQ(floods(), 0);
  for (auto const& port : {c.http(), c.grpc()}) {
    // The flood counter decays over time, so a slow host needs more connections.
    auto const end = std::chrono::steady_clock::now() + 30s;
    auto const before = floods();
    while (floods() == before && std::chrono::steady_clock::now() < end)
      for (int i = 0; i < 2'000; ++i) test::raw_socket const left(test::port_of(port));
    EXPECT_GT(floods(), before) << port;
  }
  EXPECT_NE(c.text("/api/v1/events").find("silent_connections"), std::string::npos);
}

}  // namespace
}  // namespace muster::e2e
