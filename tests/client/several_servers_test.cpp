#include <gtest/gtest.h>

#include <future>

#include "client/link/server_list.hpp"
#include "muster/cluster_coordinator.hpp"
#include "muster/session.hpp"
#include "tests/client/fake_server.hpp"
#include "tests/support/test_server.hpp"
#include "tests/support/worker_thread.hpp"

namespace muster::test {
namespace {

using std::chrono::milliseconds;

constexpr auto nobody = "127.0.0.1:1";

/// A standby that refuses to serve.
struct standby : fake_server {
  standby() {
    auto const no = [](auto*) {
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "another server is the leader");
    };
    on_attach = no;
    on_session = no;
  }
};

TEST(server_list, addresses_are_used_in_turn) {
  std::string const list = "a:1,b:2,,c:3";
  EXPECT_EQ(chosen_server("a:1"), "a:1");
  EXPECT_EQ(chosen_server(list), "a:1");
  pass_over(list, "a:1");
  EXPECT_EQ(chosen_server(list), "b:2");
  pass_over(list, "a:1");  // another caller's report of the same server
  EXPECT_EQ(chosen_server(list), "b:2");
  pass_over(list, "b:2");
  EXPECT_EQ(chosen_server(list), "c:3");
  pass_over(list, "c:3");
  EXPECT_EQ(chosen_server(list), "a:1");
  EXPECT_EQ(chosen_server("a:1,d:4"), "a:1") << "another list";
  EXPECT_EQ(chosen_server(","), ",");
}

TEST(several_servers, session_skips_an_unreachable_server) {
  test_server server;
  session s({.server = std::string(nobody) + ",127.0.0.1:2," + server.address()});
  EXPECT_NO_THROW(s.wait_open());
  EXPECT_EQ(s.close(), "");
}

// No closure is sent before a server has opened the session, since the stream is not resumable.
TEST(several_servers, session_skips_a_standby_server) {
  test_server server;
  standby other;
  worker_thread worker(options_for(server.address()));
  session s({.server = other.address() + "," + server.address()});
  auto const echo = s.function("muster.echo");
  std::promise<std::string> told;
  s.schedule(echo, {"[7]"}, [&](outcome const& o) {
    told.set_value(o.ok() ? std::string(o.value.bytes) : o.failure->message);
  });
  EXPECT_NO_THROW(s.wait_open());
  EXPECT_EQ(told.get_future().get(), "7");
  EXPECT_EQ(s.close(), "");
}

// The error of the only server, or an error other than "does not serve", ends the session.
TEST(several_servers, session_ends_with_the_error_of_the_only_server) {
  standby other;
  session s({.server = other.address()});
  try {
    s.wait_open();
    FAIL();
  } catch (session_error const& e) {
    EXPECT_STREQ(e.what(), "another server is the leader");
  }
}

TEST(several_servers, coordinator_skips_unreachable_and_standby_servers) {
  test_server server;
  standby other;
  cluster_coordinator c(
      {.server = std::string(nobody) + "," + other.address() + "," + server.address()});
  EXPECT_NO_THROW(c.wait_open());
}

TEST(several_servers, sessions_follow_a_failover_and_return) {
  auto a = std::make_unique<test_server>();
  auto const port = a->port();
  auto b = std::make_unique<test_server>();
  auto const both = a->address() + "," + b->address();
  auto const opens = [&] {
    session s({.server = both});
    EXPECT_NO_THROW(s.wait_open());
  };
  opens();
  EXPECT_EQ(chosen_server(both), a->address());
  a.reset();
  opens();
  EXPECT_EQ(chosen_server(both), b->address());
  test_server_options o;
  o.port = port;
  a = std::make_unique<test_server>(o);
  b.reset();
  opens();
  EXPECT_EQ(chosen_server(both), a->address());
}

TEST(several_servers, session_fails_if_all_servers_are_unreachable) {
  session s({.server = std::string(nobody) + ",127.0.0.1:2", .connect_timeout = milliseconds(300)});
  EXPECT_THROW(s.wait_open(), session_error);
}

// The pauses of a session grow to 2 s, so eight of them take more than 3 s.
TEST(several_servers, a_session_pauses_once_for_all_addresses) {
  test_server server;
  std::string all;
  for (int i = 1; i <= 8; ++i) all += "127.0.0.1:" + std::to_string(i) + ",";
  session s({.server = all + server.address(), .connect_timeout = milliseconds(2'000)});
  EXPECT_NO_THROW(s.wait_open());
}

TEST(several_servers, a_worker_pauses_once_for_all_addresses) {
  test_server server;
  standby other;
  auto w = options_for(nobody);
  w.servers = {nobody, other.address(), "127.0.0.1:2", server.address()};
  w.backoff_min = w.backoff_max = std::chrono::minutes(10);
  worker_thread worker(w);
  EXPECT_TRUE(connected(server));
}

TEST(several_servers, worker_follows_a_failover_and_returns) {
  auto a = std::make_unique<test_server>();
  auto const port = a->port();
  test_server_options o;
  {
    test_server gone;
    o.port = gone.port();
  }
  standby other;
  auto w = options_for(nobody);
  w.servers = {nobody, other.address(), a->address(), "127.0.0.1:" + std::to_string(o.port)};
  w.backoff_min = w.backoff_max = milliseconds(10);
  worker_thread worker(w);
  ASSERT_TRUE(connected(*a));
  a.reset();
  auto b = std::make_unique<test_server>(o);
  EXPECT_TRUE(connected(*b));
  o.port = port;
  a = std::make_unique<test_server>(o);
  b.reset();
  EXPECT_TRUE(connected(*a));
}

}  // namespace
}  // namespace muster::test
