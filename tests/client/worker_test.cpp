#include <gtest/gtest.h>

#include <cstdlib>
#include <latch>
#include <set>

#include "muster/session.hpp"
#include "server/core/queries/worker_queries.hpp"
#include "tests/support/test_server.hpp"
#include "tests/support/worker_thread.hpp"

namespace muster::test {
namespace {

using std::chrono::milliseconds;

TEST(worker_options, invalid_options_are_refused) {
  EXPECT_THROW(worker({.servers = {}}), std::invalid_argument);
  EXPECT_THROW(worker({.server = "http://127.0.0.1:1"}), std::invalid_argument);
  EXPECT_THROW(worker({.slots = 0}), std::invalid_argument);
  EXPECT_THROW(worker({.slots = 4, .credits = 3}), std::invalid_argument);
  worker w({});
  w.function("f", [] { return 1; });
  EXPECT_THROW(w.function("f", [] { return 2; }), std::invalid_argument);
  EXPECT_THROW(w.function("", [] { return 2; }), std::invalid_argument);
}

TEST(worker_options, tls_settings_default_to_the_environment) {
  EXPECT_FALSE(worker_options{}.tls.on());
  ::setenv("MUSTER_CA", "/etc/muster/ca.pem", 1);
  EXPECT_EQ(worker_options{}.tls.ca, "/etc/muster/ca.pem");
  EXPECT_EQ(session_options{}.tls.ca, "/etc/muster/ca.pem");
  EXPECT_FALSE((worker_options{.tls = {}}.tls.on()));
  ::unsetenv("MUSTER_CA");
}

TEST(worker, hello_describes_the_worker) {
  test_server server;
  auto o = options_for(server.address());
  o.job = "gpu";
  o.index = 7;
  o.slots = 3;
  o.labels = {{"zone", "a"}};
  o.version = "9";
  worker_thread worker(o);
  ASSERT_TRUE(connected(server));
  auto const task =
      server.on_engine([](server::hub& h) { return *h.state().workers().find("gpu", 7); });
  EXPECT_EQ(task.slots, 3u);
  EXPECT_EQ(task.credits, 16u);
  EXPECT_EQ(task.version, "9");
  EXPECT_EQ(task.pid, static_cast<std::uint32_t>(getpid()));
  ASSERT_EQ(task.labels.size(), 1u);
  EXPECT_NE(core::raw(task.incarnation), 0u);
}

TEST(worker, stop_leaves_cleanly_and_returns_0) {
  test_server server;
  worker_thread worker(options_for(server.address()));
  ASSERT_TRUE(connected(server));
  EXPECT_EQ(worker.stop(), 0);
  EXPECT_TRUE(server.eventually([](auto& c) {
    return c.workers().find("worker", 0)->state != core::task_state::connected;
  })) << "the stream ends a moment before the row changes";
  auto const task =
      server.on_engine([](server::hub& h) { return *h.state().workers().find("worker", 0); });
  EXPECT_EQ(task.state, core::task_state::disconnected);
}

TEST(worker, stop_waits_for_running_closures) {
  test_server server;
  std::latch started(1);
  std::latch finish(1);
  worker_thread worker(options_for(server.address()), [&](muster::worker& w) {
    w.function("slow", [&] {
      started.count_down();
      finish.wait();
      return 5;
    });
  });
  session s({.server = server.address()});
  auto result = s.call<int>("slow");
  started.wait();
  std::thread stopping([&] { EXPECT_EQ(worker.stop(), 0); });
  ASSERT_TRUE(server.eventually([](auto& c) { return c.workers().find("worker", 0)->draining; }));
  finish.count_down();
  EXPECT_EQ(result.get(), 5);
  stopping.join();
}

TEST(worker, unfinished_closures_are_returned_after_the_drain_timeout) {
  test_server server;
  auto o = options_for(server.address());
  o.drain_timeout = milliseconds(20);
  std::latch started(1);
  worker_thread first(o, [&](muster::worker& w) {
    w.function("slow", [&](context& c) {
      started.count_down();
      while (!c.cancelled()) std::this_thread::sleep_for(milliseconds(1));
      return 1;
    });
  });
  session s({.server = server.address()});
  auto result = s.call<int>("slow");
  started.wait();
  EXPECT_EQ(first.stop(), 0);
  worker_thread second(options_for(server.address()),
                       [](muster::worker& w) { w.function("slow", [] { return 2; }); });
  EXPECT_EQ(result.get(), 2);
}

TEST(worker, unusable_tls_files_are_refused) {
  worker_options o;
  o.tls.ca = "/nowhere/ca.pem";
  try {
    worker made(o);
    FAIL();
  } catch (std::invalid_argument const& e) {
    EXPECT_STREQ(e.what(), "tls: ca /nowhere/ca.pem: No such file or directory");
  }
}

TEST(worker, drain_by_the_server_ends_run_with_0) {
  test_server server;
  worker_thread worker(options_for(server.address()));
  ASSERT_TRUE(connected(server));
  server.on_engine([](server::hub& h) {
    core::drain_task e;
    e.job = "worker";
    h.ask(e, [](core::reply const&) {});
    return 0;
  });
  EXPECT_EQ(worker.join(), 0);
}

TEST(worker, idle_worker_sends_heartbeats) {
  test_server_options o;
  o.core.heartbeat_timeout = milliseconds(300);
  test_server server(o);
  worker_thread worker(options_for(server.address()));
  ASSERT_TRUE(connected(server));
  auto const seen = [&] {
    return server.on_engine(
        [](server::hub& h) { return h.state().workers().find("worker", 0)->last_seen; });
  };
  auto const first = seen();
  ASSERT_TRUE(server.eventually([&](auto& c) {
    return c.workers().find("worker", 0)->last_seen >
           first + milliseconds(600);  // two timeouts later
  }));
  EXPECT_TRUE(connected(server));
}

TEST(worker, answers_arrive_in_batches) {
  test_server server;
  auto o = options_for(server.address());
  o.credits = 1024;
  worker_thread worker(o);
  session s({.server = server.address()}, [](outcome const&) {});
  s.schedule_many(s.function("muster.noop"), {"[]"}, 0, 100'000);
  ASSERT_TRUE(s.wait_all());
  auto const stats = s.stats();
  EXPECT_EQ(stats.finished, 100'000u);
  EXPECT_EQ(stats.failed, 0u);
  EXPECT_LT(stats.messages_sent, 2'000u);
  EXPECT_LT(stats.messages_received, 20'000u);
}

TEST(worker, two_workers_share_100000_closures_and_each_finishes_once) {
  test_server server;
  auto o = options_for(server.address());
  o.credits = 256;
  worker_thread first(o);
  worker_thread second(o);
  ASSERT_TRUE(connected(server, 2));
  std::vector<int> times(100'000);
  session s({.server = server.address()}, [&](outcome const& out) {
    EXPECT_TRUE(out.ok());
    ++times[out.token];
  });
  s.schedule_many(s.function("muster.echo"), {"[1]"}, 0, times.size());
  ASSERT_TRUE(s.wait_all());
  EXPECT_EQ(s.close(), "");
  EXPECT_EQ(std::count(times.begin(), times.end(), 1), 100'000);
  for (int i : {0, 1}) {
    auto const task =
        server.on_engine([i](server::hub& h) { return *h.state().workers().find("worker", i); });
    EXPECT_GT(task.finished, 10'000u);
  }
}

}  // namespace
}  // namespace muster::test
