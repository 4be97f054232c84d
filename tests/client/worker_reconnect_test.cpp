#include <gtest/gtest.h>

#include <future>
#include <latch>

#include "muster/log.hpp"
#include "muster/session.hpp"
#include "server/core/queries/worker_queries.hpp"
#include "tests/support/hand_worker.hpp"
#include "tests/support/test_server.hpp"
#include "tests/support/worker_thread.hpp"

namespace muster::test {
namespace {

using std::chrono::milliseconds;

TEST(worker_reconnect, reconnects_to_a_restarted_server_with_its_incarnation) {
  auto server = std::make_unique<test_server>();
  auto const port = server->port();
  worker_thread worker(options_for(server->address()));
  ASSERT_TRUE(connected(*server));
  auto const incarnation = [](test_server& s) {
    return s.on_engine(
        [](server::hub& h) { return h.state().workers().find("worker", 0)->incarnation; });
  };
  auto const before = incarnation(*server);
  server.reset();
  test_server_options o;
  o.port = port;
  test_server again(o);
  ASSERT_TRUE(connected(again));
  EXPECT_EQ(incarnation(again), before);
  session s({.server = again.address()});
  EXPECT_EQ(s.call<int>("muster.echo", 4).get(), 4);
}

TEST(worker_reconnect, tries_its_servers_in_turn) {
  test_server server;
  auto o = options_for("127.0.0.1:1");
  o.servers.push_back(server.address());
  worker_thread worker(o);
  EXPECT_TRUE(connected(server));
}

// The server is lost while a function runs. The function is asked to stop, and its result is
// dropped.
TEST(worker_reconnect, result_is_dropped_if_the_server_is_lost) {
  auto server = std::make_unique<test_server>();
  auto const port = server->port();
  std::latch started(1);
  std::atomic<bool> was_asked = false;
  worker_thread worker(options_for(server->address()), [&](muster::worker& w) {
    w.function("slow", [&](context& c) {
      started.count_down();
      while (!c.cancelled()) std::this_thread::sleep_for(milliseconds(1));
      was_asked = true;
      return 1;
    });
  });
  session s({.server = server->address()});
  auto result = s.call<int>("slow");
  started.wait();
  server.reset();
  EXPECT_THROW(result.get(), closure_error);
  test_server_options o;
  o.port = port;
  test_server again(o);
  ASSERT_TRUE(connected(again));
  session s2({.server = again.address()});
  EXPECT_EQ(s2.call<int>("muster.echo", 1).get(), 1);  // still attached, without a stray answer
  EXPECT_TRUE(again.eventually([&](auto&) { return was_asked.load(); }));
  EXPECT_EQ(connected(again), true);
}

TEST(worker_reconnect, keeps_its_index_at_a_server_that_does_not_know_it) {
  auto server = std::make_unique<test_server>();
  test_server_options o;
  o.port = server->port();
  hand_worker first(server->address(), make_hello({"f"}, 1, 1, 12345));
  worker_thread worker(options_for(server->address()));
  auto const is_second = [](test_server& s) {
    return s.eventually([](core::coordinator const& c) {
      auto const t = c.workers().find("worker", 1);
      return t && t->state == core::task_state::connected;
    });
  };
  ASSERT_TRUE(is_second(*server));
  server.reset();
  test_server again(o);
  EXPECT_TRUE(is_second(again)) << "although index 0 is free there";
}

TEST(worker_reconnect, taken_over_task_is_final) {
  test_server server;
  auto o = options_for(server.address());
  o.index = 0;
  worker_thread worker(o);
  ASSERT_TRUE(connected(server));
  auto hello = make_hello({"f"}, 1, 1, 12345);
  hello.set_index(0);
  hand_worker usurper(server.address(), hello);
  EXPECT_EQ(worker.join(), 1);
}

TEST(worker_reconnect, unreachable_server_is_logged_once) {
  auto o = options_for("127.0.0.1:1");
  o.backoff_min = o.backoff_max = milliseconds(1);
  std::atomic<int> told_away = 0, told_other = 0;
  std::promise<void> turned;
  set_log([&](log_level, std::string_view text) {
    if (text == "no connection to 127.0.0.1:1: Connection refused")
      ++told_away;
    else if (++told_other == 1)
      turned.set_value();
  });
  test_server server;
  // The real server follows several copies of the unreachable one.
  for (int i = 0; i < 5; ++i) o.servers.push_back("127.0.0.1:1");
  o.servers.push_back(server.address());
  worker_thread worker(o);
  EXPECT_TRUE(connected(server));
  turned.get_future().wait();
  set_log({});
  EXPECT_EQ(told_away, 1);
}

TEST(worker_reconnect, refused_hello_is_final) {
  test_server server;
  auto o = options_for(server.address());
  o.job = "not a name";
  std::string line;
  set_log([&](log_level level, std::string_view text) {
    if (level == log_level::error) line = text;
  });
  worker_thread worker(o);
  EXPECT_EQ(worker.join(), 1);
  EXPECT_NE(line.find("hello.job"), std::string::npos) << line;
  set_log({});
}

}  // namespace
}  // namespace muster::test
