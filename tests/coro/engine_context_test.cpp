#include "coro/engine_context.hpp"

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <future>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/coro/engine_test_support.hpp"

namespace muster::coro::test {
namespace {

static_assert(asio::execution::is_executor<engine_executor>::value);
static_assert(asio::can_require<engine_executor, asio::execution::blocking_t::never_t>::value);
static_assert(
    asio::can_prefer<engine_executor, asio::execution::outstanding_work_t::tracked_t>::value);
static_assert(asio::can_query<engine_executor, asio::execution::context_t>::value);
static_assert(asio::can_query<engine_executor, asio::execution::mapping_t>::value);

TEST(engine_context, local_posts_run_in_order_and_after_the_poster) {
  engine_context engine(plain_queue());
  std::vector<int> order;
  engine.post([&] {
    engine.post([&] { order.push_back(2); });
    engine.post([&] { order.push_back(3); });
    order.push_back(1);
    engine.close();
  });
  engine.run();
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

TEST(engine_context, posts_of_another_thread_run_in_order_on_one_wake_up) {
  engine_context engine(plain_queue());
  std::vector<int> seen;
  std::thread([&] {
    for (int i = 0; i < 1000; ++i) engine.post([&seen, i] { seen.push_back(i); });
  }).join();
  EXPECT_EQ(engine.wakes(), 1U);
  engine.close();
  engine.run();
  std::vector<int> expected(1000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(seen, expected);
}

TEST(engine_context, a_sleeping_engine_wakes_for_every_round_trip) {
  engine_context engine(plain_queue());
  std::thread runner([&] { engine.run(); });
  for (int i = 0; i < 100; ++i) {
    std::promise<int> answer;
    engine.post([&, i] { answer.set_value(i); });
    EXPECT_EQ(answer.get_future().get(), i);
  }
  EXPECT_GE(engine.wakes(), 1U);
  EXPECT_LE(engine.wakes(), 100U);
  engine.close();
  runner.join();
}

TEST(engine_context, posts_of_eight_threads_all_arrive) {
  engine_context engine(plain_queue());
  std::thread runner([&] { engine.run(); });
  int count = 0;
  std::vector<std::thread> producers;
  for (int t = 0; t < 8; ++t)
    producers.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) engine.post([&count] { ++count; });
    });
  for (auto& p : producers) p.join();
  engine.close();
  runner.join();
  EXPECT_EQ(count, 80'000);
  EXPECT_LT(engine.wakes(), 80'000U);
}

TEST(engine_context, local_work_does_not_starve_the_queue) {
  engine_context engine(plain_queue());
  bool from_outside = false;
  unsigned turns = 0;
  std::function<void()> spin = [&] {
    ++turns;
    if (turns == 1) std::thread([&] { engine.post([&] { from_outside = true; }); }).join();
    if (from_outside || turns > 1'000'000)
      engine.close();
    else
      engine.post([&] { spin(); });
  };
  engine.post([&] { spin(); });
  engine.run();
  EXPECT_TRUE(from_outside);
}

task<void> hop(engine_context& engine, std::vector<int>& order) {
  order.push_back(1);
  engine.post([&order] { order.push_back(2); });
  co_await asio::post(asio::use_awaitable);
  order.push_back(3);
  EXPECT_TRUE(engine.running_in_this_thread());
}

TEST(engine_context, coroutines_run_on_its_executor_and_queue_behind_earlier_posts) {
  engine_context engine(plain_queue());
  std::vector<int> order;
  run_to_end(engine, hop(engine, order));
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

task<void> hop_through(asio::any_io_executor elsewhere, std::thread::id engine_thread) {
  co_await asio::post(asio::bind_executor(elsewhere, asio::use_awaitable));
  EXPECT_NE(std::this_thread::get_id(), engine_thread);
  co_await asio::post(asio::use_awaitable);
  EXPECT_EQ(std::this_thread::get_id(), engine_thread);
}

TEST(engine_context, coroutine_returns_from_another_context_by_a_post) {
  engine_context engine(plain_queue());
  asio::thread_pool pool(1);
  run_to_end(engine, hop_through(pool.get_executor(), std::this_thread::get_id()));
  pool.join();
}

TEST(engine_context, dispatch_runs_at_once_inside_and_is_posted_from_outside) {
  engine_context engine(plain_queue());
  bool inside = false;
  asio::dispatch(engine.get_executor(), [&] {
    asio::dispatch(engine.get_executor(), [&] { inside = true; });
    EXPECT_TRUE(inside);
    engine.close();
  });
  EXPECT_FALSE(inside);
  engine.run();
  EXPECT_TRUE(inside);
}

TEST(engine_context, run_continues_while_work_is_tracked) {
  engine_context engine(plain_queue());
  auto guard = std::make_unique<asio::executor_work_guard<engine_executor>>(engine.get_executor());
  engine.close();
  std::thread runner([&] { engine.run(); });
  std::promise<void> ran;
  EXPECT_TRUE(engine.post([&] { ran.set_value(); }));
  ran.get_future().get();
  guard.reset();
  runner.join();
  EXPECT_FALSE(engine.post([] {}));
}

TEST(engine_context, any_io_executor_holds_and_compares_it) {
  engine_context engine(plain_queue());
  engine_context other(plain_queue());
  asio::any_io_executor a = engine.get_executor();
  EXPECT_EQ(a, asio::any_io_executor(engine.get_executor()));
  EXPECT_NE(a, asio::any_io_executor(other.get_executor()));
  EXPECT_EQ(&a.context(), &engine);
}

TEST(engine_context, functions_that_never_ran_are_destroyed_with_it) {
  auto watched = std::make_shared<int>(1);
  {
    engine_context engine(plain_queue());
    engine.post([watched] { FAIL() << "nobody called run()"; });
    EXPECT_EQ(watched.use_count(), 2);
  }
  EXPECT_EQ(watched.use_count(), 1);
}

task<void> never_runs(std::shared_ptr<int> watched) {
  ADD_FAILURE() << *watched;
  co_return;
}

TEST(engine_context, a_coroutine_that_never_ran_is_destroyed_with_it) {
  auto watched = std::make_shared<int>(1);
  {
    engine_context engine(plain_queue());
    auto on_end = [](std::exception_ptr) {};
    asio::co_spawn(engine.get_executor(), never_runs(watched), on_end);
    EXPECT_EQ(watched.use_count(), 2);
  }
  EXPECT_EQ(watched.use_count(), 1);
}

TEST(unique_function, moves_small_and_large_callables_and_frees_them) {
  auto watched = std::make_shared<int>(7);
  std::array<char, 200> large{};
  large[199] = 5;
  int sum = 0;
  {
    function small([watched, &sum] { sum += *watched; });
    function big([watched, large, &sum] { sum += large[199]; });
    function moved(std::move(small));
    small = std::move(big);
    EXPECT_FALSE(big);
    moved();
    small();
    EXPECT_EQ(sum, 12);
    moved = std::move(small);
    EXPECT_EQ(watched.use_count(), 2);
  }
  EXPECT_EQ(watched.use_count(), 1);
}

}  // namespace
}  // namespace muster::coro::test
