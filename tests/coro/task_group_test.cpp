#include "coro/task_group.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "coro/event.hpp"
#include "coro/timer_queue.hpp"
#include "tests/coro/engine_test_support.hpp"

namespace muster::coro::test {
namespace {

using namespace std::chrono_literals;

task<void> sleep_long(engine_context& engine, int& ended) {
  co_await asio::this_coro::throw_if_cancelled(false);
  timer t(engine);
  EXPECT_FALSE(co_await t.wait_for(1h));
  ++ended;
}

task<void> sleep_long_on_asio(int& ended) {
  asio::steady_timer t(co_await asio::this_coro::executor, 1h);
  co_await t.async_wait(asio::use_awaitable);  // throws operation_aborted when cancelled
  ++ended;
}

task<void> throws(char const* what) {
  co_await asio::post(asio::use_awaitable);
  throw std::runtime_error(what);
}

task<void> throws_aborted() {
  co_await asio::post(asio::use_awaitable);
  throw boost::system::system_error(asio::error::operation_aborted);
}

task<void> ends_at_once(int& ended) {
  ++ended;
  co_return;
}

task<void> cancel_and_wait(engine_context& engine) {
  int ended = 0;
  task_group group(engine.get_executor(), 100, fail_test);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(group.spawn("sleeper", sleep_long(engine, ended)));
  EXPECT_EQ(group.size(), 100U);
  group.cancel();
  co_await group.wait();
  EXPECT_EQ(ended, 100);
  EXPECT_TRUE(group.empty());
}

TEST(task_group, cancel_ends_every_task_and_wait_sees_the_last) {
  engine_context engine(plain_queue());
  run_to_end(engine, cancel_and_wait(engine));
}

task<void> refuse_over_the_limit(engine_context& engine) {
  int ended = 0;
  task_group group(engine.get_executor(), 2, fail_test);
  EXPECT_TRUE(group.spawn("one", sleep_long(engine, ended)));
  EXPECT_TRUE(group.spawn("two", sleep_long(engine, ended)));
  EXPECT_FALSE(group.spawn("three", ends_at_once(ended)));
  EXPECT_EQ(ended, 0) << "a refused task ran";
  group.cancel();
  co_await group.wait();
  EXPECT_TRUE(group.spawn("four", ends_at_once(ended)));
  co_await group.wait();
  EXPECT_EQ(ended, 3);
}

TEST(task_group, refuses_tasks_over_its_limit_until_one_ends) {
  engine_context engine(plain_queue());
  run_to_end(engine, refuse_over_the_limit(engine));
}

task<void> collect_errors(engine_context& engine, std::vector<std::string>& errors) {
  auto const note = [&errors](std::string_view name, std::exception_ptr error) {
    try {
      std::rethrow_exception(error);
    } catch (std::exception const& e) {
      errors.push_back(std::string(name) + ": " + e.what());
    }
  };
  task_group group(engine.get_executor(), 10, note);
  int ended = 0;
  group.spawn("bad", throws("first"));
  group.spawn("good", ends_at_once(ended));
  co_await group.wait();
  EXPECT_EQ(errors, (std::vector<std::string>{"bad: first"}));
  group.spawn("aborted by itself", throws_aborted());
  co_await group.wait();
  EXPECT_EQ(errors.size(), 2U);
}

TEST(task_group, reports_exceptions_of_tasks_by_name) {
  engine_context engine(plain_queue());
  std::vector<std::string> errors;
  run_to_end(engine, collect_errors(engine, errors));
}

task<void> parent(engine_context& engine, int& ended) {
  co_await asio::this_coro::throw_if_cancelled(false);
  task_group children(engine.get_executor(), 2, fail_test);
  children.spawn("child", sleep_long(engine, ended));
  children.spawn("child", sleep_long(engine, ended));
  co_await children.wait();
  ++ended;
}

task<void> cancel_a_parent(engine_context& engine) {
  int ended = 0;
  task_group group(engine.get_executor(), 1, fail_test);
  group.spawn("parent", parent(engine, ended));
  group.cancel();
  co_await group.wait();
  EXPECT_EQ(ended, 3);
}

TEST(task_group, cancelled_wait_cancels_the_children) {
  engine_context engine(plain_queue());
  run_to_end(engine, cancel_a_parent(engine));
}

task<void> respawning(task_group& group, engine_context& engine, int& ended) {
  co_await sleep_long(engine, ended);
  group.spawn("late", ends_at_once(ended));
}

task<void> spawn_while_ending(engine_context& engine) {
  int ended = 0;
  task_group group(engine.get_executor(), 10, fail_test);
  group.spawn("respawning", respawning(group, engine, ended));
  group.cancel();
  co_await group.wait();
  EXPECT_EQ(ended, 2);
}

TEST(task_group, wait_includes_tasks_spawned_during_the_wait) {
  engine_context engine(plain_queue());
  run_to_end(engine, spawn_while_ending(engine));
}

task<void> on_io_context(asio::io_context& io, bool& waited) {
  int ended = 0;
  task_group group(io.get_executor(), 10, fail_test);
  group.spawn("sleeper", sleep_long_on_asio(ended));
  group.spawn("sleeper", sleep_long_on_asio(ended));
  group.cancel();
  co_await group.wait();
  EXPECT_EQ(ended, 0);
  EXPECT_TRUE(group.empty());
  waited = true;
}

TEST(task_group, works_on_an_io_context_and_hides_the_abort_of_cancelled_tasks) {
  asio::io_context io(1);
  bool waited = false;
  task_group top(io.get_executor(), 1, fail_test);
  top.spawn("test", on_io_context(io, waited));
  io.run();
  EXPECT_TRUE(waited);
}

TEST(task_group_death, destroying_a_group_with_a_live_task_aborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto const destroy_early = [] {
    asio::io_context io(1);
    int ended = 0;
    task_group group(io.get_executor(), 1, fail_test);
    group.spawn("sleeper", sleep_long_on_asio(ended));
  };
  EXPECT_DEATH(destroy_early(), "destroyed before its last task");
}

}  // namespace
}  // namespace muster::coro::test
