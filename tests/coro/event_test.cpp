#include "coro/event.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "coro/timer_queue.hpp"
#include "tests/coro/engine_test_support.hpp"

namespace muster::coro::test {
namespace {

using namespace boost::asio::experimental::awaitable_operators;
using namespace std::chrono_literals;

struct counted_writer {
  explicit counted_writer(engine_context& e) : engine(e), dirty(e) {}
  engine_context& engine;
  event dirty;
  int wakes = 0;
  bool ended = false;
};

task<void> write_when_dirty(counted_writer& w) {
  co_await asio::this_coro::throw_if_cancelled(false);
  while (bool const set = co_await w.dirty.wait()) w.wakes += set;
  w.ended = true;
}

task<void> turn() {
  co_await asio::post(asio::use_awaitable);
}

task<void> set_many_times(counted_writer& w) {
  task_group group(w.engine.get_executor(), 1, fail_test);
  group.spawn("writer", write_when_dirty(w));
  for (int i = 0; i < 100; ++i) w.dirty.set();
  EXPECT_EQ(w.wakes, 0) << "set() resumed the waiter inside the call";
  co_await turn();
  co_await turn();
  EXPECT_EQ(w.wakes, 1);
  w.dirty.set();
  co_await turn();
  co_await turn();
  EXPECT_EQ(w.wakes, 2);
  group.cancel();
  co_await group.wait();
  EXPECT_TRUE(w.ended);
  EXPECT_EQ(w.wakes, 2);
}

TEST(event, wakes_its_waiter_once_for_many_sets) {
  engine_context engine(plain_queue());
  counted_writer writer(engine);
  run_to_end(engine, set_many_times(writer));
}

task<void> wait_after_set(engine_context& engine) {
  event dirty(engine);
  dirty.set();
  dirty.set();
  EXPECT_TRUE(co_await dirty.wait());
  timer limit(engine);
  auto const won = co_await (dirty.wait() || limit.wait_for(5ms));
  EXPECT_EQ(won.index(), 1U) << "the flag was not cleared by the wait that it ended";
  dirty.set();
  EXPECT_TRUE(co_await dirty.wait()) << "a cancelled wait spoils the next one";
}

TEST(event, a_set_before_the_wait_is_seen_once) {
  engine_context engine(plain_queue());
  run_to_end(engine, wait_after_set(engine));
}

task<void> store_wait(event& e, int& result) {
  co_await asio::this_coro::throw_if_cancelled(false);
  result = co_await e.wait() ? 1 : 0;
}

task<void> cancel_a_wait(engine_context& engine) {
  event dirty(engine);
  int result = -1;
  task_group group(engine.get_executor(), 1, fail_test);
  group.spawn("waiter", store_wait(dirty, result));
  group.cancel();
  co_await group.wait();
  EXPECT_EQ(result, 0);
}

TEST(event, a_cancelled_wait_gives_false) {
  engine_context engine(plain_queue());
  run_to_end(engine, cancel_a_wait(engine));
}

}  // namespace
}  // namespace muster::coro::test
