#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include "tests/client/agent_fixture.hpp"

namespace muster::test {
namespace {

TEST(agent, tasks_register_together_and_pass_a_barrier) {
  test_server server(agents(2));
  auto const both = connected(server.address(), 2);
  EXPECT_EQ(both[0]->state(), agent_state::connected);
  EXPECT_NE(both[0]->incarnation(), both[1]->incarnation());
  EXPECT_EQ(both[0]->service_incarnation(), both[1]->service_incarnation());
  for (int use = 0; use < 3; ++use) {
    auto other = beside([&] { return both[1]->barrier("b", long_time); });
    EXPECT_EQ(both[0]->barrier("b", long_time), use);
    EXPECT_EQ(other.get(), use);
  }
}

TEST(agent, registration_error_names_tasks_that_did_not_join) {
  test_server server(agents(2));
  auto o = as_task(server.address(), 0);
  o.connect_timeout = 400ms;
  muster::coordination_agent a(o);
  auto const e = raised_by<wait_timeout>([&] { a.connect(); });
  EXPECT_NE(std::string(e.what()).find("task:1"), std::string::npos) << e.what();
  EXPECT_EQ(a.state(), agent_state::idle);
}

TEST(agent, unknown_task_is_refused_at_once) {
  test_server server(agents(2));
  muster::coordination_agent a(as_task(server.address(), 7));
  auto const e = raised_by<coordination_error>([&] { a.connect(); });
  EXPECT_EQ(e.code(), coordination_code::invalid_argument);
}

TEST(agent, calls_before_connect_are_refused) {
  muster::coordination_agent a(as_task("127.0.0.1:1", 0));
  EXPECT_EQ(raised_by<coordination_error>([&] { a.try_get("k"); }).code(),
            coordination_code::failed_precondition);
  EXPECT_EQ(raised_by<coordination_error>([&] { a.watch("k", [](key_change const&) {}); }).code(),
            coordination_code::failed_precondition);
  EXPECT_FALSE(a.leave_barrier("b"));
  auto o = as_task("127.0.0.1:1", 0);
  o.call_timeout = 0ms;
  EXPECT_THROW(muster::coordination_agent{o}, std::invalid_argument);
}

TEST(agent, connect_without_a_server_fails_at_its_timeout) {
  auto o = as_task("127.0.0.1:1", 0);
  o.connect_timeout = 200ms;
  muster::coordination_agent a(o);
  EXPECT_THROW(a.connect(), wait_timeout);
}

TEST(agent, keys_are_set_read_incremented_listed_and_deleted) {
  test_server server(agents(1));
  auto const all = connected(server.address(), 1);
  auto& a = *all[0];
  EXPECT_EQ(a.try_get("a/b"), std::nullopt);
  a.set("a/b", std::string("1\0", 2));
  a.set("a//b/", "2");
  EXPECT_EQ(a.get("a/b", long_time), "2");
  EXPECT_FALSE(a.set_if_absent("a/b", "3"));
  EXPECT_TRUE(a.set_if_absent("a/c", "3"));
  EXPECT_EQ(a.increment("n"), 1);
  EXPECT_EQ(a.increment("n", 41), 42);
  a.set("word", "x");
  EXPECT_EQ(raised_by<coordination_error>([&] { a.increment("word"); }).code(),
            coordination_code::failed_precondition);
  EXPECT_EQ(a.list("a"), (std::vector<key_value>{{"a/b", "2"}, {"a/c", "3"}}));
  a.erase("a");
  EXPECT_TRUE(a.list("a").empty());
}

TEST(agent, get_waits_until_the_key_is_set_or_the_timeout_expires) {
  test_server server(agents(2));
  auto const both = connected(server.address(), 2);
  auto waiting = beside([&] { return both[1]->get("k", long_time); });
  ASSERT_TRUE(server.parked(3));  // and both polls
  both[0]->set("k", "v");
  EXPECT_EQ(waiting.get(), "v");
  auto const e = raised_by<wait_timeout>([&] { both[0]->get("other", 200ms); });
  EXPECT_NE(std::string(e.what()).find("Key other has not been set"), std::string::npos)
      << e.what();
}

TEST(agent, watch_reports_existing_keys_and_changes) {
  test_server server(agents(1));
  auto const all = connected(server.address(), 1);
  auto& a = *all[0];
  a.set("f/a", "1");
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> told;
  auto const has = [&](std::string const& what) {
    std::unique_lock held(mutex);
    return changed.wait_for(held, long_time,
                            [&] { return std::count(told.begin(), told.end(), what) == 1; });
  };
  auto watch = a.watch("f", [&](key_change const& c) {
    std::lock_guard const held(mutex);
    told.push_back(c.key + "=" + c.value.value_or("deleted"));
    changed.notify_all();
  });
  EXPECT_TRUE(has("f/a=1"));
  a.set("f/a", "2");
  a.set("f/sub/b", "3");
  a.set("elsewhere", "4");
  EXPECT_TRUE(has("f/a=2"));
  EXPECT_TRUE(has("f/sub/b=3"));
  a.erase("f/a");
  EXPECT_TRUE(has("f/a=deleted"));
  watch.stop();
  auto const count = told.size();
  EXPECT_EQ(count, 4u);
  a.set("f/z", "5");
  a.set("f/z", "6");
  EXPECT_EQ(told.size(), count);
}

TEST(agent, watch_can_stop_itself_and_outlive_its_agent) {
  test_server server(agents(1));
  auto all = connected(server.address(), 1);
  all[0]->set("f/a", "1");
  std::promise<void> told;
  key_watch own;
  std::promise<void> kept;
  own = all[0]->watch("f", [&, may = kept.get_future().share()](key_change const&) {
    may.wait();
    own.stop();
    told.set_value();
  });
  kept.set_value();
  EXPECT_EQ(told.get_future().wait_for(long_time), std::future_status::ready);
  auto other = all[0]->watch("f", [](key_change const&) {});
  all.clear();
  other.stop();
}

TEST(agent, barrier_of_some_tasks_refuses_other_tasks) {
  test_server server(agents(3));
  auto const all = connected(server.address(), 3);
  auto other = beside([&] { return all[2]->barrier("b", long_time, {0, 2}); });
  EXPECT_EQ(all[0]->barrier("b", long_time, {2, 0}), 0);
  EXPECT_EQ(other.get(), 0);
  auto const e = raised_by<coordination_barrier_error>([&] {
    all[1]->barrier("c", long_time, {0, 2});
  });
  EXPECT_EQ(e.code(), coordination_code::invalid_argument);
  EXPECT_EQ(e.barrier(), "c");
}

TEST(agent, a_barrier_that_times_out_counts_as_a_use) {
  test_server server(agents(2));
  auto const both = connected(server.address(), 2);
  auto const e = raised_by<coordination_barrier_error>([&] { both[0]->barrier("b", 50ms); });
  EXPECT_EQ(e.code(), coordination_code::deadline_exceeded);
  EXPECT_EQ(e.use(), 0);
  // The other client still counts from 0, and learns the number from the refusal.
  EXPECT_THROW(both[1]->barrier("b", long_time), coordination_barrier_error);
  auto other = beside([&] { return both[1]->barrier("b", long_time); });
  EXPECT_EQ(both[0]->barrier("b", long_time), 1);
  EXPECT_EQ(other.get(), 1);
}

TEST(agent, any_task_can_cancel_a_barrier_for_all) {
  test_server server(agents(3));
  auto const all = connected(server.address(), 3);
  auto waiting = beside([&] { return all[0]->barrier("b", long_time, {0, 1}); });
  ASSERT_TRUE(server.parked(4));
  all[2]->cancel_barrier("b");
  EXPECT_EQ(raised_by<coordination_barrier_error>([&] { waiting.get(); }).code(),
            coordination_code::cancelled);
  // A client that did not participate in the second use gets its number from the service.
  auto again = beside([&] { return all[0]->barrier("b", long_time, {0, 1}); });
  ASSERT_TRUE(server.parked(4));
  all[2]->cancel_barrier("b");
  EXPECT_EQ(raised_by<coordination_barrier_error>([&] { again.get(); }).use(), 1);
  EXPECT_EQ(raised_by<coordination_error>([&] { all[2]->cancel_barrier("b"); }).code(),
            coordination_code::failed_precondition);
}

TEST(agent, task_leaves_a_barrier_and_returns) {
  test_server server(agents(2));
  auto const both = connected(server.address(), 2);
  auto other = beside([&] { return both[1]->barrier("b", long_time); });
  ASSERT_TRUE(server.parked(3));
  EXPECT_EQ(raised_by<coordination_error>([&] { both[1]->barrier("b", long_time); }).code(),
            coordination_code::failed_precondition);
  EXPECT_TRUE(both[1]->leave_barrier("b"));
  EXPECT_EQ(raised_by<coordination_error>([&] { other.get(); }).code(),
            coordination_code::cancelled);
  ASSERT_TRUE(server.parked(2));
  other = beside([&] { return both[1]->barrier("b", long_time); });
  EXPECT_EQ(both[0]->barrier("b", long_time), 0);
  EXPECT_EQ(other.get(), 0);
}

TEST(agent, task_states_are_listed_and_waited_for) {
  test_server server(agents(2));
  auto both = connected(server.address(), 2);
  auto const list = both[0]->tasks();
  ASSERT_EQ(list.tasks.size(), 2u);
  EXPECT_EQ(list.tasks[1].state, task_state::connected);
  EXPECT_EQ(list.tasks[1].incarnation, both[1]->incarnation());
  EXPECT_THROW(both[0]->wait_for_tasks(list.version, 100ms), wait_timeout);
  auto asking = beside([&] { return both[1]->live_tasks({}, long_time); });
  std::vector<live_task> const alive{{0, both[0]->incarnation()}, {1, both[1]->incarnation()}};
  EXPECT_EQ(both[0]->live_tasks({0, 1}, long_time), alive);
  EXPECT_EQ(asking.get(), alive);
  auto waiting = beside([&] { return both[0]->wait_for_tasks(list.version, long_time); });
  both[1]->shutdown();
  EXPECT_EQ(both[1]->state(), agent_state::shut_down);
  EXPECT_EQ(waiting.get().tasks[1].state, task_state::disconnected);
}

TEST(agent, tasks_exchange_their_devices) {
  test_server server(agents(2));
  auto const both = connected(server.address(), 2);
  auto other = beside([&] { return both[1]->wait_for_all({"tpu:2"}, long_time); });
  std::vector<std::string> const devices{"tpu:0", "tpu:1", "tpu:2"};
  EXPECT_EQ(both[0]->wait_for_all({"tpu:0", "tpu:1"}, long_time), devices);
  EXPECT_EQ(other.get(), devices);
}

boost::asio::awaitable<std::string> visit(muster::coordination_agent& a) {
  co_await a.async_set("k", "v");
  auto const use = co_await a.async_barrier("b", long_time);
  auto const value = co_await a.async_get("k", long_time);
  co_return value + std::to_string(use);
}

TEST(agent, coroutines_of_any_executor_are_supported) {
  test_server server(agents(1));
  boost::asio::io_context context;
  muster::coordination_agent a(as_task(server.address(), 0));
  boost::asio::co_spawn(context, a.async_connect(), boost::asio::use_future);
  context.run();
  EXPECT_EQ(a.state(), agent_state::connected);
  context.restart();
  auto visited = boost::asio::co_spawn(context, visit(a), boost::asio::use_future);
  context.run();
  EXPECT_EQ(visited.get(), "v0");
}

boost::asio::awaitable<std::string> visit_keys(muster::coordination_agent& a) {
  co_await a.async_set("k/a", "1");
  bool const set = co_await a.async_set_if_absent("k/a", "2");
  auto const none = co_await a.async_try_get("k/b");
  auto const sum = co_await a.async_increment("k/a", 3);
  auto const below = co_await a.async_list("k");
  co_await a.async_erase("k");
  auto const erased = co_await a.async_list("k");
  co_return std::to_string(set) + std::to_string(none.has_value()) + std::to_string(sum) + " " +
      below.at(0).key + std::to_string(below.size()) + std::to_string(erased.size());
}

boost::asio::awaitable<std::string> visit_tasks(muster::coordination_agent& a) {
  std::vector<std::string> devices{"tpu:0"};
  devices = co_await a.async_wait_for_all(std::move(devices), long_time);
  std::vector<std::uint32_t> all;
  auto const alive = co_await a.async_live_tasks(std::move(all), long_time);
  auto const list = co_await a.async_tasks();
  auto const next = co_await a.async_wait_for_tasks(list.version - 1, long_time);
  auto const quiet = co_await a.async_wait_for_error(1ms);
  co_await a.async_cancel_barrier("nobody's");
  co_await a.async_report_error(coordination_code::data_loss, "a bad disk");
  auto const told = co_await a.async_wait_for_error(long_time);
  co_return devices.at(0) + std::to_string(alive.size()) + std::to_string(list.tasks.size()) +
      std::to_string(next.version == list.version) + std::to_string(quiet.has_value()) +
      std::to_string(told.has_value());
}

TEST(agent, every_call_has_an_asynchronous_version) {
  test_server server(agents(1));
  auto const one = connected(server.address(), 1);
  boost::asio::io_context context;
  auto keys = boost::asio::co_spawn(context, visit_keys(*one[0]), boost::asio::use_future);
  context.run();
  EXPECT_EQ(keys.get(), "004 k/a10");
  context.restart();
  auto tasks = boost::asio::co_spawn(context, visit_tasks(*one[0]), boost::asio::use_future);
  context.run();
  EXPECT_EQ(tasks.get(), "tpu:011101");
}

TEST(agent, a_cancelled_wait_is_withdrawn_at_the_service) {
  test_server server(agents(2));
  auto const both = connected(server.address(), 2);
  boost::asio::io_context context;
  boost::asio::cancellation_signal signal;
  auto waiting = boost::asio::co_spawn(
      context, both[0]->async_barrier("b", long_time),
      boost::asio::bind_cancellation_slot(signal.slot(), boost::asio::use_future));
  auto running = beside([&] { context.run(); });
  ASSERT_TRUE(server.parked(3));
  boost::asio::post(context, [&] { signal.emit(boost::asio::cancellation_type::terminal); });
  EXPECT_EQ(raised_by<boost::system::system_error>([&] { waiting.get(); }).code(),
            boost::asio::error::operation_aborted);
  running.get();
  EXPECT_TRUE(server.parked(2));
}

}  // namespace
}  // namespace muster::test
