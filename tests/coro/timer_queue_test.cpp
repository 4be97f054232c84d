#include "coro/timer_queue.hpp"

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "coro/event.hpp"
#include "tests/coro/engine_test_support.hpp"

namespace muster::coro::test {
namespace {

using namespace boost::asio::experimental::awaitable_operators;
using namespace std::chrono_literals;
using clock = timer_queue::clock;

task<void> wait_and_note(engine_context& engine, std::chrono::milliseconds span, int id,
                         std::vector<int>& order) {
  timer t(engine);
  auto const start = clock::now();
  EXPECT_TRUE(co_await t.wait_for(span));
  EXPECT_GE(clock::now() - start, span);
  order.push_back(id);
}

task<void> wait_in_mixed_order(engine_context& engine, std::vector<int>& order) {
  task_group group(engine.get_executor(), 8, fail_test);
  group.spawn("third", wait_and_note(engine, 15ms, 3, order));
  group.spawn("first", wait_and_note(engine, 3ms, 1, order));
  group.spawn("fourth", wait_and_note(engine, 20ms, 4, order));
  group.spawn("second", wait_and_note(engine, 9ms, 2, order));
  co_await group.wait();
}

TEST(timer, timers_fire_in_order_of_their_deadlines_and_never_early) {
  engine_context engine(plain_queue());
  std::vector<int> order;
  run_to_end(engine, wait_in_mixed_order(engine, order));
  EXPECT_EQ(order, (std::vector{1, 2, 3, 4}));
}

task<void> cancel_one(engine_context& engine) {
  timer t(engine);
  timer other(engine);
  other.call_at(clock::now() + 2ms, [&t] { t.cancel(); });
  EXPECT_FALSE(co_await t.wait_for(1h));
  EXPECT_TRUE(co_await t.wait_for(1ms)) << "a cancelled timer can be used again";
  EXPECT_EQ(engine.timers().size(), 0U);
}

TEST(timer, a_cancelled_wait_gives_false) {
  engine_context engine(plain_queue());
  run_to_end(engine, cancel_one(engine));
}

task<void> race(engine_context& engine) {
  timer quick(engine);
  timer slow(engine);
  auto const won = co_await (slow.wait_for(1h) || quick.wait_for(2ms));
  EXPECT_EQ(won.index(), 1U);
  EXPECT_EQ(engine.timers().size(), 0U) << "the loser of a race still waits";
}

TEST(timer, the_loser_of_a_race_is_cancelled) {
  engine_context engine(plain_queue());
  run_to_end(engine, race(engine));
}

task<void> replace_call(engine_context& engine) {
  timer t(engine);
  event called(engine);
  int first = 0;
  t.call_at(clock::now() + 2ms, [&first] { ++first; });
  t.call_at(clock::now() + 4ms, [&called] { called.set(); });
  EXPECT_TRUE(co_await called.wait());
  EXPECT_EQ(first, 0);
  EXPECT_FALSE(t.pending());
}

TEST(timer, call_at_replaces_the_call_before) {
  engine_context engine(plain_queue());
  run_to_end(engine, replace_call(engine));
}

task<void> ten_thousand(engine_context& engine, int& fired) {
  auto const base = clock::now() + 1s;
  std::vector<std::unique_ptr<timer>> timers;
  event all(engine);
  auto const on_fire = [&fired, &all] {
    if (++fired == 10'000) all.set();
  };
  for (int i = 0; i < 10'000; ++i) {
    timers.push_back(std::make_unique<timer>(engine));
    timers.back()->call_at(base - i * 1us, on_fire);  // each is the new earliest
  }
  EXPECT_LE(engine.timers().arms(), 1U) << "one alarm per timer";
  EXPECT_EQ(engine.timers().size(), 10'000U);
  auto const later = clock::now() + 5ms;
  for (auto& t : timers) t->call_at(later, on_fire);
  EXPECT_TRUE(co_await all.wait());
  EXPECT_LT(engine.timers().arms(), 100U);
}

TEST(timer, ten_thousand_timers_share_one_alarm) {
  engine_context engine(plain_queue());
  int fired = 0;
  run_to_end(engine, ten_thousand(engine, fired));
  EXPECT_EQ(fired, 10'000);
}

struct fired_timer {
  explicit fired_timer(engine_context& e) : t(e) {}
  timer t;
  clock::time_point at{};
  bool expected = false;
};

// Random starts, restarts and cancels. The remaining timers fire in order of their deadlines.
task<void> random_operations(engine_context& engine, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::unique_ptr<fired_timer>> timers;
  std::vector<clock::time_point> fired;
  event done(engine);
  std::size_t expected = 0;
  for (int i = 0; i < 500; ++i) timers.push_back(std::make_unique<fired_timer>(engine));
  for (int step = 0; step < 5'000; ++step) {
    auto& chosen = *timers[random() % timers.size()];
    expected -= chosen.expected ? 1 : 0;
    chosen.expected = random() % 4 != 0;
    expected += chosen.expected ? 1 : 0;
    chosen.at = clock::now() + 20ms + std::chrono::microseconds(random() % 20'000);
    auto const on_fire = [&fired, &done, &expected, at = chosen.at] {
      fired.push_back(at);
      if (fired.size() == expected) done.set();
    };
    if (chosen.expected)
      chosen.t.call_at(chosen.at, on_fire);
    else
      chosen.t.cancel();
  }
  EXPECT_EQ(engine.timers().size(), expected);
  EXPECT_TRUE(co_await done.wait());
  EXPECT_TRUE(std::is_sorted(fired.begin(), fired.end())) << "seed=" << seed;
  EXPECT_EQ(engine.timers().size(), 0U);
}

TEST(timer, random_cancels_leave_the_other_timers_unaffected) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    engine_context engine(plain_queue());
    run_to_end(engine, random_operations(engine, seed));
  }
}

task<void> wait_for_ever(engine_context& engine, bool& result) {
  timer t(engine);
  result = co_await t.wait_until(clock::time_point::max());
  EXPECT_FALSE(co_await t.wait_for(1h)) << "a closing engine starts no wait";
}

TEST(timer, closing_the_engine_ends_every_wait) {
  engine_context engine(plain_queue());
  bool result = true;
  task_group group(engine.get_executor(), 1, fail_test);
  group.spawn("waiter", wait_for_ever(engine, result));
  engine.close();
  engine.run();
  EXPECT_FALSE(result);
}

TEST(timer, an_earlier_deadline_overtakes_an_armed_one) {
  engine_context engine(plain_queue());
  timer late(engine);
  timer early(engine);
  auto const start = clock::now();
  engine.post([&] { late.call_at(start + 1h, [] { FAIL(); }); });
  engine.post([&] { early.call_at(clock::now() + 2ms, [&] { engine.close(); }); });
  engine.run();
  EXPECT_LT(clock::now() - start, 1min);
}

}  // namespace
}  // namespace muster::coro::test
