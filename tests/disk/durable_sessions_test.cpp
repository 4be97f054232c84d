#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <muster/closure_error.hpp>
#include <muster/cluster_coordinator.hpp>
#include <thread>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

using namespace std::chrono_literals;

struct durable_sessions : ::testing::Test {
  cluster c;
  words flags{"--data-dir", c.file("data").string()};
  process* server = &c.serve(flags);

  void kill_and_start() {
    server->signal(SIGKILL);
    EXPECT_TRUE(server->wait().has_value());
    server = &c.serve(flags);
  }
  coordinator_options options() { return {.server = c.grpc(), .name = "program"}; }
};

TEST_F(durable_sessions, program_survives_kills_and_keeps_its_values) {
  c.worker({"--slots", "4"});
  cluster_coordinator program(options());
  program.wait_open();
  auto const id = program.id();
  std::vector<remote_value<int>> values;
  std::atomic<int> scheduled = 0;
  std::thread killer([&] {
    for (int round = 1; round <= 3; ++round) {
      await([&] { return scheduled >= 2'000 * round; });
      kill_and_start();
    }
  });
  for (int i = 0; i < 8'000; ++i) {
    values.push_back(i > 0 && i % 10 == 0 ? program.schedule<int>("muster.echo", values.back())
                                          : program.schedule<int>("muster.echo", i));
    ++scheduled;
  }
  killer.join();
  EXPECT_TRUE(program.join(60s));
  for (int i = 0; i < 8'000; ++i)
    ASSERT_EQ(values[static_cast<std::size_t>(i)].fetch(10s), i > 0 && i % 10 == 0 ? i - 1 : i);
  EXPECT_EQ(program.id(), id);
  auto const view = c.get("/api/v1/jobs/" + id);
  EXPECT_EQ(view.at("durable"), true);

  // Any client can read an acknowledged and held value from the next server.
  auto const text = values[77].id();
  kill_and_start();
  EXPECT_EQ(c.text("/api/v1/remote_values/" + text + "/value?timeout=10s"), "77");
}

TEST_F(durable_sessions, an_error_is_raised_once_and_the_next_generation_begins) {
  c.worker();
  cluster_coordinator program(options());
  auto const slow = program.schedule<int>("muster.echo", 1);
  auto const bad = program.schedule<void>("muster.fail", "no such column");
  EXPECT_THROW(program.join(20s), closure_error);
  kill_and_start();
  EXPECT_TRUE(program.join(20s)) << "the error was delivered before";
  EXPECT_EQ(program.schedule<int>("muster.echo", 2).fetch(20s), 2);
  EXPECT_THROW(bad.fetch(1s), closure_error);
}

TEST_F(durable_sessions, released_values_and_closed_sessions_are_removed_from_the_disk) {
  c.worker();
  auto const kinds = [&] {
    server->signal(SIGKILL);
    EXPECT_TRUE(server->wait().has_value());
    auto const checked = c.run({"data", "check", c.file("data").string(), "--output", "json"});
    server = &c.serve(flags);
    return boost::json::parse(checked.out).at("entries");
  };
  auto const count = [](boost::json::value const& all, char const* kind) {
    for (auto const& one : all.as_array())
      if (one.at("kind") == kind) return one.at("entries").to_number<int>();
    return 0;
  };
  {
    cluster_coordinator program(options());
    auto const kept = program.schedule<int>("muster.echo", 1);
    EXPECT_EQ(kept.fetch(20s), 1);
    for (int i = 0; i < 50; ++i) program.schedule<int>("muster.echo", i).fetch(20s);
    auto const value = program.create_per_worker_value("muster.echo", 5);
    program.schedule<int>("muster.echo", 7).fetch(20s);  // sends the releases of dropped values
    auto const entries = kinds();
    EXPECT_EQ(count(entries, "job"), 1);
    EXPECT_EQ(count(entries, "per_worker"), 1);
    EXPECT_LE(count(entries, "closure"), 3) << boost::json::serialize(entries);
    EXPECT_EQ(kept.fetch(20s), 1);
    program.wait_open();
    EXPECT_EQ(program.schedule<int>("muster.echo", 8).fetch(20s), 8) << "resumed";
  }
  // The ended session stays listed, and is removed from disk.
  ASSERT_TRUE(await([&] {
    return c.status_of("/api/v1/jobs?limit=1") == 200 &&
           c.get("/api/v1/jobs").at("jobs").at(0).at("state") != "RUNNING" &&
           c.get("/api/v1/overview").at("durable").at("changes_waiting") == 0;
  }));
  auto const after = kinds();
  for (auto const* kind : {"job", "accepted", "closure", "per_worker"})
    EXPECT_EQ(count(after, kind), 0) << kind;
}

TEST_F(durable_sessions, session_that_is_not_durable_ends_with_its_server) {
  c.worker();
  auto o = options();
  o.durable = false;
  cluster_coordinator program(o);
  EXPECT_EQ(program.schedule<int>("muster.echo", 1).fetch(20s), 1);
  kill_and_start();
  EXPECT_THROW(program.schedule<int>("muster.echo", 2).fetch(20s), std::exception);
}

}  // namespace
}  // namespace muster::e2e
