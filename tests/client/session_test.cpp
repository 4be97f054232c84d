#include "muster/session.hpp"

#include <gtest/gtest.h>

#include "tests/support/test_server.hpp"
#include "tests/support/worker_thread.hpp"

namespace muster::test {
namespace {

using std::chrono::milliseconds;

TEST(session, wait_open_returns_once_the_session_is_open) {
  test_server server;
  session s({.server = server.address(), .name = "mine"});
  s.wait_open();
  EXPECT_EQ(s.id(), "job_0000000000000001");
  EXPECT_EQ(s.close(), "");
}

TEST(session, unreachable_server_is_an_error_after_the_timeout) {
  session s({.server = "127.0.0.1:1", .connect_timeout = milliseconds(100)});
  EXPECT_THROW(s.wait_open(), session_error);
  EXPECT_THROW(s.schedule(s.function("f"), {"[]"}, 0), session_error);
}

TEST(session, connects_to_a_server_that_starts_later) {
  int port = 0;
  { port = test_server().port(); }
  session s({.server = "127.0.0.1:" + std::to_string(port)});
  test_server_options o;
  o.port = port;
  test_server server(o);
  EXPECT_NO_THROW(s.wait_open());
}

TEST(session, reports_why_it_is_refused) {
  test_server server;
  session s({.server = server.address(), .cluster = "nowhere"});
  try {
    s.wait_open();
    FAIL();
  } catch (session_error const& e) {
    EXPECT_STREQ(e.what(), "open.cluster: there is no cluster 'nowhere'");
  }
}

TEST(session, pending_queue_is_limited) {
  test_server server;  // no worker; the server's queue takes 10
  session s({.server = server.address(), .queue_capacity = 10, .pending_max = 50});
  auto const f = s.function("f");
  std::string const args = "[\"" + std::string(100'000, 'x') + "\"]";  // fills HTTP/2's windows
  std::uint64_t token = 0;
  do {  // until the queue stays full
    while (token < 100'000 && s.try_schedule(f, {args}, token)) ++token;
  } while (s.flush(milliseconds(50)));
  EXPECT_LT(token, 100'000u);
  EXPECT_EQ(s.stats().scheduled, token);
}

TEST(session, blocked_schedule_continues_when_there_is_room) {
  test_server server;
  session s({.server = server.address(), .queue_capacity = 16, .pending_max = 64},
            [](outcome const&) {});
  auto const f = s.function("muster.noop");
  std::string const args = "[\"" + std::string(2'000, 'x') + "\"]";
  std::thread scheduling([&] { s.schedule_many(f, {args}, 0, 20'000); });
  worker_thread worker(options_for(server.address()));
  scheduling.join();
  EXPECT_TRUE(s.wait_all());
  EXPECT_EQ(s.stats().finished, 20'000u);
}

TEST(session, blocked_schedule_ends_with_the_session) {
  auto server = std::make_unique<test_server>();
  session s({.server = server->address(), .queue_capacity = 16, .pending_max = 64});
  auto const f = s.function("f");
  std::string const args = "[\"" + std::string(100'000, 'x') + "\"]";
  std::thread scheduling(
      [&] { EXPECT_THROW(s.schedule_many(f, {args}, 0, 20'000), session_error); });
  EXPECT_TRUE(server->eventually([](auto& c) { return c.overview({}).closures.queued >= 16; }));
  server.reset();
  scheduling.join();
}

TEST(session, first_error_cancels_queued_calls) {
  test_server server;
  std::vector<failure_kind> kinds;
  session s({.server = server.address()}, [&](outcome const& o) {
    if (!o.ok()) kinds.push_back(o.failure->kind);
  });
  s.schedule(s.function("muster.fail"), {R"(["x"])"}, 0);
  s.schedule_many(s.function("no.such.function"), {"[]"}, 1, 10);
  worker_thread worker(options_for(server.address()));
  ASSERT_TRUE(s.wait_all());
  EXPECT_EQ(kinds.size(), 11u);
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), failure_kind::user), 1);
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), failure_kind::cancelled), 10);
}

TEST(session, handlers_can_schedule) {
  test_server server;
  worker_thread worker(options_for(server.address()));
  std::atomic<int> left = 1000;
  session* self = nullptr;
  function_number f{};
  session s({.server = server.address()}, [&](outcome const& o) {
    if (left.fetch_sub(1) > 0) self->schedule(f, {"[]"}, o.token);
  });
  self = &s;
  f = s.function("muster.noop");
  s.schedule_many(f, {"[]"}, 0, 8);
  ASSERT_TRUE(s.wait_all());
  EXPECT_EQ(s.stats().finished, 1008u);
}

TEST(session, throwing_handler_ends_the_session) {
  test_server server;
  worker_thread worker(options_for(server.address()));
  session s({.server = server.address()},
            [](outcome const&) { throw std::runtime_error("handler trouble"); });
  s.schedule(s.function("muster.noop"), {"[]"}, 0);
  s.schedule(s.function("muster.sleep"), {"[60000]"}, 1);
  EXPECT_FALSE(s.wait_all());
  EXPECT_NE(s.close().find("handler trouble"), std::string::npos);
}

TEST(session, concurrent_calls_have_tokens_of_their_own) {
  test_server server;
  worker_thread worker(options_for(server.address()));
  session s({.server = server.address()});
  EXPECT_EQ(s.call<int>("muster.echo", 1).get(), 1);
  EXPECT_EQ(s.call<int>("muster.echo", 2).get(), 2);
  std::vector<std::future<int>> all;
  for (int i = 0; i < 20; ++i) all.push_back(s.call<int>("muster.echo", i));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)].get(), i);
}

TEST(session, lost_server_fails_every_future) {
  auto server = std::make_unique<test_server>();
  session s({.server = server->address()});
  auto never = s.call<int>("f");
  s.wait_open();
  server.reset();
  try {
    never.get();
    FAIL();
  } catch (closure_error const& e) {
    EXPECT_EQ(e.failure().kind, failure_kind::dependency_lost);
  }
  EXPECT_FALSE(s.wait_all());
  EXPECT_EQ(s.close(), "the server is shutting down");
}

TEST(session, close_waits_for_the_last_outcome) {
  test_server server;
  worker_thread worker(options_for(server.address()));
  session s({.server = server.address()}, [](outcome const&) {});
  s.schedule(s.function("muster.sleep"), {"[30]"}, 0);
  EXPECT_EQ(s.close(), "");
  EXPECT_EQ(s.stats().finished, 1u);
  EXPECT_THROW(s.schedule(s.function("f"), {"[]"}, 0), session_error);
}

TEST(session, close_has_a_timeout) {
  test_server server;
  session s({.server = server.address()}, [](outcome const&) {});
  s.schedule(s.function("nobody.has.this"), {"[]"}, 0);
  EXPECT_EQ(s.close(milliseconds(20)), "the session did not end within 20 ms");
  EXPECT_TRUE(server.eventually([](auto& c) { return c.overview({}).closures.queued == 0; }));
}

TEST(session, invalid_arguments_are_refused) {
  test_server server;
  session s({.server = server.address()});
  EXPECT_THROW(s.function(""), std::invalid_argument);
  EXPECT_THROW(s.function(std::string(257, 'f')), std::invalid_argument);
  EXPECT_THROW(s.schedule(s.function("f"), {"[]"}, std::uint64_t{1} << 63), std::invalid_argument);
  EXPECT_EQ(s.function("f"), s.function("f"));
  EXPECT_NE(s.function("f"), s.function("g"));
}

}  // namespace
}  // namespace muster::test
