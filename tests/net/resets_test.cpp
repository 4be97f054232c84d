#include <functional>
#include <thread>

#include "server/net/abuse/leaky_counts.hpp"
#include "server/net/abuse/reset_connection.hpp"
#include "server/net/abuse/reset_watch.hpp"
#include "tests/net/accepting_echo.hpp"
#include "tests/support/rapid_resets.hpp"

namespace muster::net::test {
namespace {

TEST(leaky_counts, resets_within_burst_and_rate_are_allowed) {
  leaky_counts counts({.burst = 10, .per_second = 5});
  leaky_counts::clock::time_point now{};
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(counts.note("a", now));
  EXPECT_FALSE(counts.note("b", now)) << "another's";
  EXPECT_TRUE(counts.note("a", now));
  EXPECT_FALSE(counts.note("a", now)) << "starts again";
  for (int i = 0; i < 1'000; ++i) {
    now += 200ms;
    EXPECT_FALSE(counts.note("c", now)) << i;
  }
}

TEST(leaky_counts, table_evicts_inactive_names_beyond_the_limit) {
  leaky_counts counts({.burst = 10, .per_second = 0, .names_max = 100});
  leaky_counts::clock::time_point const now{};
  bool cut = false;
  for (int i = 0; i < 10'000; ++i) {
    counts.note(std::to_string(i), now);
    EXPECT_LE(counts.names(), 100u);
    if (i % 20 == 0) cut = counts.note("again and again", now) || cut;
  }
  EXPECT_TRUE(cut) << "it reported all the time";
}

// Runs `work` on a separate thread, since the server uses the test's thread.
task<void> on_a_thread(echo_server& s, std::function<void()> work) {
  event over(s.engine);
  std::thread other([&] {
    work();
    s.engine.post([&over] { over.set(); });
  });
  co_await over.wait();
  other.join();
}

task<void> flood(echo_server& s, std::string method, int times, bool to_be_cut) {
  muster::test::rapid_resets r("127.0.0.1:" + s.address.substr(s.address.rfind(':') + 1));
  EXPECT_TRUE(r.connected());
  std::function<void()> const resetting = [&] { r.begin_and_reset(method, times); };
  auto first = on_a_thread(s, resetting);
  co_await std::move(first);
  // A well-behaved client is served after the flood.
  Ping message = ping(1);
  auto const status = co_await call_once(s, message);
  EXPECT_TRUE(status.ok()) << status.error_message();
  std::function<void()> const looking = [&] {
    if (to_be_cut)
      EXPECT_TRUE(r.ends());
    else
      EXPECT_FALSE(r.is_cut());
  };
  auto second = on_a_thread(s, looking);
  co_await std::move(second);
}

int resets = 0;

accepting_server_options with_limits(leaky_limits limits, std::vector<std::string>& cut,
                                     std::chrono::milliseconds soon = 1s) {
  accepting_server_options o;
  resets = 0;
  o.reset_soon = soon;
  o.call_was_reset = [] { ++resets; };
  o.resets = limits;
  o.cut = [&cut](std::string const& peer) { cut.push_back(peer); };
  return o;
}

void expect_cut(std::string const& method) {
  std::vector<std::string> told;
  accepting_echo s(with_limits({.burst = 50, .per_second = 1}, told));
  s.serve_once(echo_once);
  s.serve_chat(echo_chat);
  s.server.refuse_unknown_methods();
  s.start();
  s.run(flood(s, method, 300, true));
  ASSERT_FALSE(told.empty());  // also for messages that arrived before the connection was cut
  EXPECT_TRUE(told[0].starts_with("127.0.0.1:")) << told[0];
  EXPECT_GT(resets, 50);
}

TEST(resets, resets_above_the_limit_close_the_connection) {
  expect_cut("/muster.coro_test.Echo/Chat");
}

TEST(resets, resets_of_unknown_methods_count_too) {
  expect_cut("/no.Service/None");
}

TEST(resets, resets_up_to_the_limit_are_allowed) {
  std::vector<std::string> told;
  accepting_echo s(with_limits({.burst = 300, .per_second = 1}, told));
  s.serve_once(echo_once);
  s.serve_chat(echo_chat);
  s.start();
  s.run(flood(s, "/muster.coro_test.Echo/Chat", 300, false));
  EXPECT_TRUE(told.empty());
}

TEST(resets, late_resets_are_not_counted) {
  std::vector<std::string> told;
  accepting_echo s(with_limits({.burst = 5, .per_second = 1}, told, 0ms));
  s.serve_chat(echo_chat);
  s.serve_once(echo_once);
  s.start();
  s.run(flood(s, "/muster.coro_test.Echo/Chat", 100, false));
  EXPECT_EQ(resets, 0);
}

TEST(resets, resets_are_counted_at_any_split_of_the_bytes) {
  auto const reset = [](std::uint32_t stream, char error) {
    std::string f("\0\0\4\3\0", 5);
    for (int shift = 24; shift >= 0; shift -= 8) f += static_cast<char>(stream >> shift & 0xff);
    return f + std::string("\0\0\0", 3) + error;
  };
  std::string all("ts of a header");
  for (std::uint32_t stream = 70'001; stream < 70'041; stream += 2)
    all += "\x82\x86" + reset(stream, 8) + std::string(9, '\0');
  EXPECT_EQ(resets_in(all), 20u);
  EXPECT_EQ(resets_in(std::string_view(all).substr(20, all.size() - 30)), 18u);
  EXPECT_EQ(resets_in(reset(2, 8) + reset(0x80000001, 8) + reset(7, 14)), 0u);
  EXPECT_EQ(resets_in(reset(7, 8) + reset(7, 8) + reset(5, 8)), 1u) << "streams grow";
  // A pattern that arrays of numbers can contain.
  std::string numbers;
  for (int i = 0; i < 1'000; ++i) numbers += std::string("\0\0\4\3", 4);
  EXPECT_EQ(resets_in(numbers), 0u);
  EXPECT_EQ(resets_in({}), 0u);
  EXPECT_EQ(reset_socket(-1), "");
}

TEST(resets, closing_an_unknown_connection_is_harmless) {
  EXPECT_EQ(reset_connection("ipv4:127.0.0.1:1"), "");
  EXPECT_EQ(reset_connection("ipv6:%5B::1%5D:1"), "");
  EXPECT_EQ(reset_connection("fd:0"), "");
  EXPECT_EQ(reset_connection("unix:/tmp/x"), "");
}

}  // namespace
}  // namespace muster::net::test
