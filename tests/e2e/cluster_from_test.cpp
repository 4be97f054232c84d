#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

struct followed {
  cluster c;
  std::string source(std::string const& keys = {}) const {
    return "file:" + c.file("spec").string() + "|every=100ms" + keys;
  }
  void spec(std::string const& text) {
    std::filesystem::rename(c.write("spec.new", text), c.file("spec"));
  }
  std::string jobs(std::string const& name = "default") {
    return boost::json::serialize(c.get("/api/v1/clusters/" + name).at("jobs"));
  }
  bool await_event(std::string const& kind, std::string const& text) {
    return await(
        [&] {
          auto const answer = c.get("/api/v1/events?limit=1000");
          for (auto const& e : answer.at("events").as_array())
            if (std::string_view(e.at("kind").as_string()) == kind &&
                std::string_view(e.at("text").as_string()).find(text) != std::string_view::npos)
              return true;
          return false;
        },
        60s);
  }
};

TEST(cluster_from, declares_the_resolved_cluster) {
  followed f;
  f.spec(R"({"worker": ["a:1", "b:1"], "ps": {"2": "c:1"}, "evaluator": {}})");
  auto& server = f.c.serve({"--cluster", "main:w=1", "--cluster-from",
                            f.source(";name=train;heartbeat_timeout=30s;recoverable=ps")});
  EXPECT_EQ(f.jobs("train"), R"({"ps":3,"worker":2})");
  auto const shown = f.c.get("/api/v1/clusters/train");
  EXPECT_EQ(shown.at("heartbeat_timeout_ms").as_int64(), 30'000);
  EXPECT_EQ(boost::json::serialize(shown.at("recoverable_jobs")), R"(["ps"])");
  EXPECT_FALSE(shown.at("main").as_bool());
  EXPECT_EQ(f.jobs("main"), R"({"w":1})");
  EXPECT_TRUE(server.says("job=ps has gaps: 1 addresses for indices up to 2"));
}

TEST(cluster_from, is_the_main_cluster_when_it_is_the_first) {
  followed f;
  f.spec(R"({"worker": ["a:1"]})");
  f.c.serve({"--cluster-from", f.source()});
  EXPECT_EQ(f.jobs(), R"({"worker":1})");
  EXPECT_TRUE(f.c.get("/api/v1/clusters/default").at("main").as_bool());
}

TEST(cluster_from, follows_changes_and_logs_them) {
  followed f;
  f.spec(R"({"worker": ["a:1"]})");
  auto& server = f.c.serve({"--cluster-from", f.source()});
  f.spec(R"({"worker": ["a:1", "b:1"], "chief": ["c:1"]})");
  EXPECT_TRUE(f.await_event("cluster_changed", "worker=1 becomes chief=1,worker=2 at once"));
  EXPECT_EQ(f.jobs(), R"({"chief":1,"worker":2})");
  EXPECT_CONTAINS(f.c.run({"events"}).out, "cluster_changed");
  EXPECT_TRUE(server.says("cluster_changed cluster=default"));
}

TEST(cluster_from, keeps_the_last_cluster_while_the_resolver_fails) {
  followed f;
  f.spec(R"({"worker": ["a:1"]})");
  auto& server = f.c.serve({"--cluster-from", f.source()});
  f.spec("nonsense");
  EXPECT_TRUE(f.await_event("cluster_source_failed", "not JSON at line 1"));
  EXPECT_EQ(f.jobs(), R"({"worker":1})");
  f.spec(R"({"my worker": ["a:1"]})");
  EXPECT_TRUE(f.await_event("cluster_source_recovered", ""));
  EXPECT_TRUE(f.await_event("cluster_source_failed", "jobs: 'my worker' must be 1 to 128 letters"));
  EXPECT_EQ(f.jobs(), R"({"worker":1})");
  auto const log = server.errors();
  auto const first = log.find("not JSON at line 1");
  EXPECT_EQ(log.find("not JSON at line 1", first + 1), std::string::npos)
      << "the error is logged once";
}

TEST(cluster_from, start_waits_until_the_resolver_answers) {
  followed f;
  auto& server = f.c.spawn(
      {"serve", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--cluster-from", f.source()});
  ASSERT_TRUE(server.says("waiting for a cluster name=default"));
  f.spec(R"({"worker": ["a:1", "b:1"]})");
  EXPECT_TRUE(server.says("cluster name=default tasks=2"));
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(60s), 0) << server.errors();
}

TEST(cluster_from, can_be_stopped_while_it_waits) {
  followed f;
  auto& server = f.c.spawn(
      {"serve", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--cluster-from", f.source()});
  ASSERT_TRUE(server.says("waiting for a cluster"));
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(60s), 0) << server.errors();
  EXPECT_TRUE(server.says("stopped signal=SIGTERM"));
}

TEST(cluster_from, error_at_the_start_ends_the_server) {
  followed f;
  f.spec(R"({"worker": 3})");
  struct {
    std::string source;
    char const* why;
  } const all[] = {
      {f.source(), "spec: worker is a number, neither a list"},
      {"file:/nowhere|timeout=10ms", "no answer within 10 ms: '/nowhere': No such file"},
      {R"(simple:{"a b": ["x"]})", "jobs: 'a b' must be 1 to 128 letters"},
      {"nobody", "unknown resolver kind 'nobody'"},
      {"tf-config|colour=red", "'colour=red': known keys are"},
      {"tf-config|every=1ms", "'every=1ms': write a duration"},
      {"tf-config|name=a:w=1", "a name must not contain ':'"},
  };
  for (auto const& one : all) {
    auto const done = f.c.run({"serve", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0",
                               "--log-level", "off", "--cluster-from", one.source});
    EXPECT_EQ(done.status, 2) << done.err;
    EXPECT_CONTAINS(done.err, one.why);
    EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
  }
}

TEST(cluster_from, can_be_set_in_the_environment) {
  cluster c;
  auto const shown = c.run({"serve", "--print-config"}, {},
                           {{"MUSTER_CLUSTER_FROM", R"(simple:{"worker": ["a:1"]})"}});
  EXPECT_CONTAINS(shown.out, R"(cluster-from = 'simple:{"worker": ["a:1"]}')");
  EXPECT_CONTAINS(shown.out, "MUSTER_CLUSTER_FROM");
}

}  // namespace
}  // namespace muster::e2e
