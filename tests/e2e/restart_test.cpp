#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <thread>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

TEST(restart_server, keys_and_clusters_survive_kill_9) {
  cluster c;
  auto const data = c.file("data").string();
  auto& first = c.serve({"--data-dir", data, "--cluster", "train:worker=2"});
  EXPECT_EQ(c.run({"kv", "put", "a/b", "hello"}).status, 0);
  EXPECT_EQ(c.run({"kv", "put", "a/c", "gone"}).status, 0);
  EXPECT_EQ(c.run({"kv", "delete", "a/c"}).status, 0);
  c.post("/api/v1/clusters", R"({"name":"made-by-rest","jobs":{"worker":3}})");
  auto const before = c.get("/api/v1/clusters/train").at("generation").at("incarnation");
  first.kill_at_once();

  auto& second = c.serve({"--data-dir", data, "--cluster", "train:worker=2"});
  EXPECT_TRUE(second.says("epoch=2"));
  EXPECT_EQ(c.run({"kv", "get", "a/b"}).out, "hello");
  EXPECT_EQ(c.run({"kv", "get", "a/c"}).status, 1);
  EXPECT_EQ(c.status_of("/api/v1/clusters/made-by-rest"), 200u);
  EXPECT_EQ(c.get("/api/v1/clusters/train").at("generation").at("incarnation"), before);
  EXPECT_EQ(c.run({"clusters", "delete", "made-by-rest"}).status, 0);
  second.kill_at_once();
  c.serve({"--data-dir", data, "--cluster", "train:worker=2"});
  EXPECT_EQ(c.status_of("/api/v1/clusters/made-by-rest"), 404u);
}

TEST(restart_server, clusters_keep_their_ports) {
  cluster c;
  auto const data = c.file("data").string();
  words const flags{"--data-dir",    data,        "--cluster",
                    "main:worker=1", "--cluster", "train:worker=2"};
  auto const address = [&](std::string const& name) {
    return std::string(c.get("/api/v1/clusters/" + name).at("address").as_string());
  };
  auto* server = &c.serve(flags);
  c.post("/api/v1/clusters", R"({"name":"made-by-rest","jobs":{"worker":3}})");
  auto const train = address("train"), other = address("made-by-rest");
  for (int i = 0; i < 3; ++i) {
    server->kill_at_once();
    server = &c.serve(flags);
    EXPECT_EQ(address("train"), train);
    EXPECT_EQ(address("made-by-rest"), other);
  }
  server->kill_at_once();
  boost::asio::io_context engine;
  auto const port = static_cast<std::uint16_t>(std::stoul(train.substr(train.rfind(':') + 1)));
  boost::asio::ip::tcp::acceptor taken(engine, {boost::asio::ip::address_v4::loopback(), port});
  auto& last = c.serve(flags);
  EXPECT_NE(address("train"), train);
  EXPECT_TRUE(last.says("the cluster's port changed from " + std::to_string(port) + " to "));
  EXPECT_CONTAINS(c.text("/api/v1/events?limit=50"), "port_changed");
}

TEST(restart_server, no_acknowledged_key_is_lost_under_load) {
  cluster c;
  auto const data = c.file("data").string();
  int acknowledged = 0;
  for (int round = 0; round < 3; ++round) {
    auto& server = c.serve({"--data-dir", data});
    std::atomic<int> done = 0;
    std::thread killer([&] {
      await([&] { return done >= 20; });
      server.signal(SIGKILL);
    });
    for (;;) {
      auto const n = std::to_string(acknowledged);
      if (c.run({"kv", "put", "load/" + n, "value " + n}).status != 0) break;
      ++acknowledged;
      ++done;
      if (done > 10'000) break;
    }
    killer.join();
    EXPECT_TRUE(server.wait().has_value());
  }
  c.serve({"--data-dir", data});
  EXPECT_GE(acknowledged, 60);
  for (int i = 0; i < acknowledged; ++i) {
    auto const n = std::to_string(i);
    EXPECT_EQ(c.run({"kv", "get", "load/" + n}).out, "value " + n);
  }
}

TEST(restart_server, clean_restart_accepts_a_changed_cluster) {
  cluster c;
  auto const data = c.file("data").string();
  auto& first = c.serve({"--data-dir", data, "--cluster", "train:worker=2"});
  EXPECT_EQ(c.run({"kv", "put", "k", "v"}).status, 0);
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 0);
  c.serve({"--data-dir", data, "--cluster", "train:worker=4"});
  EXPECT_EQ(c.run({"kv", "get", "k"}).out, "v") << "nobody has registered, so keys stay";
  EXPECT_EQ(c.get("/api/v1/clusters/train").at("jobs").at("worker"), 4);
}

TEST(restart_server, a_directory_in_use_is_refused_in_one_line) {
  cluster a, b;
  auto const data = a.file("data").string();
  a.serve({"--data-dir", data});
  auto const f =
      b.run({"serve", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data-dir", data});
  EXPECT_EQ(f.status, 2);
  EXPECT_CONTAINS(f.err, data + ": another process has it open");
  EXPECT_EQ(std::count(f.err.begin(), f.err.end(), '\n'), 1) << f.err;
}

}  // namespace
}  // namespace muster::e2e
