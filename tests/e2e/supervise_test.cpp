#include <gtest/gtest.h>
#include <signal.h>

#include <future>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

/// Waits for a server process with another id than `other_than`.
bool await_child(process const& parent, pid_t other_than) {
  return await([&] {
    auto const child = first_child_of(parent.pid());
    return child != 0 && child != other_than;
  });
}

TEST(supervised_server, restarts_on_its_ports_with_its_data) {
  cluster c;
  auto& parent = c.serve({"--supervise", "--data-dir", c.file("data").string(), "--cluster",
                          "train:worker=2", "--cluster", "eval:worker=1"});
  auto const address = [&](std::string const& name) {
    return c.get("/api/v1/clusters/" + name).at("address");
  };
  auto const train = address("train"), eval = address("eval");
  for (int i = 0; i < 3; ++i) {
    auto const key = "k" + std::to_string(i);
    EXPECT_EQ(c.run({"kv", "put", key, "v"}).status, 0);
    auto const server = first_child_of(parent.pid());
    ASSERT_NE(server, 0);
    ASSERT_EQ(::kill(server, SIGKILL), 0);
    ASSERT_TRUE(await_child(parent, server));
    auto const got = c.run({"kv", "get", key});  // connects before the server is ready
    EXPECT_EQ(got.out, "v") << got.err;
    EXPECT_EQ(address("train"), train);
    EXPECT_EQ(address("eval"), eval);
  }
  EXPECT_TRUE(parent.says("the server was killed by SIGKILL; starting it again now"));
  EXPECT_TRUE(parent.says("starting it again in 100 ms"));
  parent.signal(SIGTERM);
  EXPECT_EQ(parent.wait(), 0);
}

TEST(supervised_server, clients_that_connect_during_a_restart_wait) {
  cluster c;
  auto& parent = c.serve({"--supervise", "--data-dir", c.file("data").string()});
  EXPECT_EQ(c.run({"kv", "put", "k", "v"}).status, 0);
  auto const server = first_child_of(parent.pid());
  parent.signal(SIGSTOP);  // delays the restart
  ASSERT_EQ(::kill(server, SIGKILL), 0);
  ASSERT_TRUE(await([&] { return !alive(server); }));
  auto asking = std::async(std::launch::async, [&] { return c.run({"kv", "get", "k"}); });
  EXPECT_EQ(asking.wait_for(500ms), std::future_status::timeout) << asking.get().err;
  parent.signal(SIGCONT);
  auto const got = asking.get();
  EXPECT_EQ(got.status, 0);
  EXPECT_EQ(got.out, "v") << got.err;
}

TEST(supervised_server, port_of_a_deleted_cluster_is_released) {
  cluster c;
  auto& parent = c.serve({"--supervise"});
  c.post("/api/v1/clusters", R"({"name":"a","jobs":{"worker":1}})");
  EXPECT_EQ(c.run({"clusters", "delete", "a"}).status, 0);
  c.post("/api/v1/clusters", R"({"name":"b","jobs":{"worker":1}})");
  auto const sockets = [&] {
    std::size_t n = 0;
    for (auto const& e :
         std::filesystem::directory_iterator("/proc/" + std::to_string(parent.pid()) + "/fd")) {
      std::error_code gone;
      n += std::filesystem::read_symlink(e.path(), gone).string().starts_with("socket:");
    }
    return n;
  };
  // grpc, http, cluster b and the supervisor's socket.
  EXPECT_TRUE(await([&] { return sockets() == 4; })) << sockets();
  // Without a data directory, cluster b is lost.
  auto const server = first_child_of(parent.pid());
  ASSERT_EQ(::kill(server, SIGKILL), 0);
  ASSERT_TRUE(await_child(parent, server));
  EXPECT_EQ(c.status_of("/api/v1/clusters/b"), 404u);
  EXPECT_TRUE(await([&] { return sockets() == 3; })) << sockets();
}

TEST(supervised_server, failed_start_is_not_repeated) {
  cluster c;
  auto& first = c.serve();
  auto const f = c.run({"serve", "--supervise", "--grpc", c.grpc(), "--http", "127.0.0.1:0"});
  EXPECT_EQ(f.status, 2);
  EXPECT_CONTAINS(f.err, "--grpc: cannot listen on " + c.grpc());
  EXPECT_TRUE(first.running());
}

TEST(supervised_server, sighup_replaces_the_server_and_the_supervisors_death_stops_it) {
  cluster c;
  auto& parent = c.serve({"--supervise"});
  auto const server = first_child_of(parent.pid());
  parent.signal(SIGHUP);
  ASSERT_TRUE(await_child(parent, server));
  EXPECT_EQ(c.status_of("/readyz"), 200u);
  EXPECT_TRUE(parent.says("the server was stopped for a restart; starting it again now"));
  auto const second = first_child_of(parent.pid());
  parent.signal(SIGKILL);
  EXPECT_TRUE(await([&] { return !alive(second); })) << "it outlived its parent";
}

TEST(supervised_server, sighup_before_readiness_replaces_the_server) {
  cluster c;
  auto& parent =
      c.spawn({"serve", "--supervise", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"});
  ASSERT_TRUE(await_child(parent, 0));
  auto const server = first_child_of(parent.pid());
  parent.signal(SIGHUP);
  EXPECT_TRUE(await_child(parent, server));
  EXPECT_TRUE(parent.running());
}

}  // namespace
}  // namespace muster::e2e
