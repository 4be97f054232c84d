// Threads of the distribute coordinator: the barrier, joint stops, and merged configurations.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "muster/log.hpp"
#include "muster/session_config.hpp"
#include "muster/thread_coordinator.hpp"
#include "muster/worker_barrier.hpp"
#include "tests/client/raised_by.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

using test::raised_by;

TEST(session_configs, merge_by_key) {
  session_config a{{{"x", 1}, {"in", {{"a", 1}}}}, {"/job:a"}, "leader"};
  a.merge({{{"x", 2}, {"in", {{"b", 2}}}}, {"/job:b"}, ""});
  EXPECT_EQ(a, (session_config{
                   {{"x", 2}, {"in", {{"a", 1}, {"b", 2}}}}, {"/job:a", "/job:b"}, "leader"}));
}

TEST(worker_barriers, can_be_reused) {
  constexpr int rounds = 200;
  worker_barrier b({"a", "b", "c"});
  std::atomic<int> count = 0;
  std::vector<std::thread> all;
  for (std::size_t i = 0; i < 3; ++i)
    all.emplace_back([&, i] {
      for (int round = 1; round <= rounds; ++round) {
        ++count;
        b.wait(i, 60s);
        EXPECT_GE(count, 3 * round);
      }
    });
  for (auto& t : all) t.join();
  EXPECT_EQ(count, 3 * rounds);
}

TEST(worker_barriers, timeout_names_missing_workers) {
  worker_barrier b({"a", "b", "c"});
  EXPECT_EQ(raised_by([&] { b.wait(1, 10ms); }),
            "barrier: 1 of 3 participants arrived within 10 ms; missing: a, c");
  EXPECT_NE(raised_by([&] { b.wait(0, 60s); }), "") << "it is over for all";
}

TEST(worker_barriers, abort_ends_waiters_with_the_reason) {
  worker_barrier b({"a", "b"});
  auto waiting = std::async(std::launch::async, [&] { return raised_by([&] { b.wait(0, 60s); }); });
  b.abort("enough");
  EXPECT_EQ(waiting.get(), "barrier: enough");
}

TEST(thread_coordinators, end_of_the_data_is_a_clean_stop) {
  thread_coordinator t;
  std::latch stopped(1);
  std::vector<std::string> lines;
  set_log([&](log_level, std::string_view line) { lines.emplace_back(line); });
  t.start("reader", [] { throw end_of_data(); });
  t.start("other", [&, token = t.stop_token()] {
    std::stop_callback const on_stop(token, [&] { stopped.count_down(); });
    stopped.wait();
  });
  EXPECT_EQ(raised_by([&] { t.join(); }), "");
  set_log({});
  EXPECT_EQ(lines,
            std::vector<std::string>{
                "reader has reached the end of the data; the other threads are asked to stop"});
  thread_coordinator strict({.end_of_data_is_clean = false});
  strict.start("reader", [] { throw end_of_data("the end"); });
  EXPECT_EQ(raised_by([&] { strict.join(); }), "the end");
}

TEST(thread_coordinators, out_of_range_exception_is_an_error) {
  thread_coordinator t;
  t.start("reader", [] { std::ignore = std::vector<int>().at(3); });
  EXPECT_NE(raised_by([&] { t.join(); }), "");
}

TEST(thread_coordinators, thread_that_does_not_stop_is_detached_and_named) {
  auto const go = std::make_shared<std::promise<void>>();
  auto const gone = std::make_shared<std::promise<void>>();
  auto over = gone->get_future();
  {
    thread_coordinator t({.grace = 10ms});
    t.start("deaf", [go, gone] {
      go->get_future().wait();
      gone->set_value();
    });
    t.request_stop();
    EXPECT_TRUE(t.should_stop());
    EXPECT_EQ(raised_by([&] { t.join(); }),
              "these threads are still running after they were asked to stop: deaf");
  }
  go->set_value();
  over.wait();
}

}  // namespace
}  // namespace muster
