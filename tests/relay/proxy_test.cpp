#include <gtest/gtest.h>
#include <signal.h>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

/// Two alternative servers that share a data directory, and a proxy in front of both.
class proxied_pair : public testing::Test {
 protected:
  void SetUp() override {
    data = a.file("data").string();
    end(b.serve(), SIGKILL);  // to get its addresses
  }
  static void end(process& p, int signal) {
    p.signal(signal);
    EXPECT_TRUE(p.wait().has_value());
  }
  process& serve(cluster& c) {
    return c.serve({"--data-dir", data, "--reconnect-grace", "8s", "--cluster",
                    "default:worker=1;error_delivery=heartbeat;heartbeat_timeout=60s"});
  }
  process& proxy(words const& flags = {}) {
    words all{"proxy",
              "--listen",
              "127.0.0.1:0",
              "--upstream",
              a.grpc() + "," + b.grpc(),
              "--upstream-http",
              a.http() + "," + b.http(),
              "--ready-file",
              a.file("proxy.json").string(),
              "--check-every",
              "50ms"};
    all.insert(all.end(), flags.begin(), flags.end());
    auto& p = a.spawn(all);
    EXPECT_TRUE(await([&] {
      boost::system::error_code ec;
      auto const ready = boost::json::parse(read_file(a.file("proxy.json")), ec);
      if (!ec) address = ready.at("listen").as_string().c_str();
      return !ec;
    })) << p.errors();
    return p;
  }

  cluster a, b;
  std::string data, address;
};

TEST_F(proxied_pair, worker_follows_the_leader) {
  auto& first = serve(a);
  auto& p = proxy();
  auto& worker = a.program({MUSTER_BINARY, "worker", "--server", address, "--slots", "1"});
  ASSERT_TRUE(a.await_tasks(1)) << p.errors() << worker.errors();
  EXPECT_TRUE(p.says("the leader is " + a.grpc()));
  auto const before = a.tasks().at(0).at("incarnation");
  end(first, SIGKILL);
  EXPECT_TRUE(p.says("no server is the leader; new connections are held"));
  serve(b);
  EXPECT_TRUE(p.says("the leader is " + b.grpc()));
  EXPECT_TRUE(b.await_tasks(1)) << p.errors() << worker.errors();
  EXPECT_EQ(b.tasks().at(0).at("incarnation"), before) << "the worker kept its identity";
  EXPECT_TRUE(worker.running()) << worker.errors();
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0);
  p.signal(SIGTERM);
  EXPECT_EQ(p.wait(), 0) << p.errors();
  EXPECT_TRUE(p.says("stopping on SIGTERM"));
}

TEST_F(proxied_pair, connection_without_a_leader_is_served_later) {
  auto& first = serve(a);
  end(first, SIGTERM);
  auto& p = proxy();
  EXPECT_TRUE(p.says("no server is the leader; new connections are held"));
  EXPECT_TRUE(p.says(a.http() + ": connection refused; " + b.http() + ": "));
  auto& worker = a.program({MUSTER_BINARY, "worker", "--server", address, "--slots", "1"});
  serve(b);
  EXPECT_TRUE(b.await_tasks(1)) << p.errors() << worker.errors();
  EXPECT_EQ(worker.errors().find("refused"), std::string::npos) << worker.errors();
}

TEST(proxy, invalid_flags_are_reported) {
  cluster c;
  auto const complains = [&](words const& flags, std::string const& part) {
    words all{"proxy"};
    all.insert(all.end(), flags.begin(), flags.end());
    auto const f = c.run(all);
    EXPECT_EQ(f.status, 2) << f.err;
    EXPECT_CONTAINS(f.err, part);
  };
  complains({"--upstream", "a:1"}, "--listen is missing");
  complains({"--listen", "127.0.0.1:0"}, "--upstream: list 1 to 16 servers");
  complains({"--listen", "nowhere", "--upstream", "a:1"}, "--listen: 'nowhere' has no port");
  complains({"--listen", ":0", "--upstream", "a:1"}, "add --insecure");
  complains({"--listen", "127.0.0.1:0", "--upstream", "a:1,b"}, "--upstream: 'b' is not HOST:PORT");
  complains({"--listen", "127.0.0.1:0", "--upstream", "a:1,a:2"},
            "two servers have the HTTP address a:8477");
  complains({"--listen", "127.0.0.1:0", "--upstream", "a:1,b:1", "--upstream-http", "a:2"},
            "--upstream-http lists 1 addresses and --upstream 2");
  complains({"--listen", "127.0.0.1:0", "--upstream", "a:1", "--held-max", "0"}, "--held-max");
  complains({"--listen", "127.0.0.1:0", "--upstream", "a:1", "--hold-max", "0"}, "--hold-max");
  complains({"--listen", "192.0.2.1:0", "--insecure", "--upstream", "a:1"},
            "--listen: cannot listen on 192.0.2.1:0: this machine does not have the address");
}

}  // namespace
}  // namespace muster::e2e
