#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <latch>

#include "server/core/queries/session_queries.hpp"
#include "tests/client/coordinator_fixture.hpp"

namespace muster::test {
namespace {

struct small_queue : coordinator {
  small_queue() : coordinator({.queue_capacity = 2, .pending_max = 8}) {}
};

TEST_F(small_queue, schedule_waits_for_room_and_all_calls_run) {
  std::vector<remote_value<int>> all;
  for (int i = 0; i < 2'000; ++i) all.push_back(c->schedule<int>("add", i, 0));
  EXPECT_TRUE(c->join());
  auto const got = c->fetch(all);
  for (int i = 0; i < 2'000; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(values_held(), 2'000u);
}

struct bounded_queue : coordinator {
  bounded_queue() : coordinator({.queue_capacity = 100, .schedule_timeout = milliseconds(300)}) {}
};

TEST_F(bounded_queue, capacity_does_not_count_running_closures) {
  for (int i = 0; i < 4; ++i) c->schedule<int>("gate");
  ASSERT_TRUE(server.eventually([](auto& core) {
    auto const all = core.sessions().list({}, 1).items;
    return !all.empty() && all.front().counts.running == 4;
  }));
  int taken = 0;
  auto const fill = [&] {
    for (; taken < 60'000; ++taken) c->schedule<int>("add", taken, 0);
  };
  EXPECT_THROW(fill(), wait_timeout);
  EXPECT_EQ(taken, 100);
  g.open();
  EXPECT_TRUE(c->join());
  EXPECT_EQ(c->schedule<int>("add", 1, 1).fetch(), 2) << "there is room again";
}

TEST_F(small_queue, coroutine_waits_for_room_without_blocking_its_thread) {
  namespace asio = boost::asio;
  asio::io_context context;
  std::vector<remote_value<int>> all;
  auto const body = [&]() -> asio::awaitable<void> {
    for (int i = 0; i < 500; ++i) {
      auto v = co_await c->async_schedule<int>("add", i, 1);
      all.push_back(std::move(v));
    }
  };
  auto result = asio::co_spawn(context, body, asio::use_future);
  context.run();
  result.get();
  auto const got = c->fetch(all);
  for (int i = 0; i < 500; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], i + 1);
}

struct short_schedule_timeout : coordinator {
  short_schedule_timeout()
      : coordinator({.queue_capacity = 2, .schedule_timeout = milliseconds(20), .pending_max = 8}) {
  }
};

TEST_F(short_schedule_timeout, schedule_fails_at_its_timeout) {
  std::string const large(1'000'000, 'x');
  auto const fill = [&] {
    for (int i = 0; i < 1'000; ++i) c->schedule<int>("nobody.has.this", large);
  };
  EXPECT_THROW(fill(), wait_timeout);
  boost::asio::io_context context;
  auto const scheduling = [&]() -> boost::asio::awaitable<void> {
    for (int i = 0; i < 1'000; ++i) co_await c->async_schedule<int>("nobody.has.this", large);
  };
  auto result = boost::asio::co_spawn(context, scheduling, boost::asio::use_future);
  context.run();
  EXPECT_THROW(result.get(), wait_timeout);
}

struct continue_on_error_session : coordinator {
  continue_on_error_session() : coordinator({.continue_on_error = true}) {}
};

TEST_F(continue_on_error_session, errors_are_raised_only_by_their_values) {
  auto const bad = c->schedule<int>("raise", "x");
  auto const good = c->schedule<int>("add", 1, 2);
  EXPECT_TRUE(c->join());
  EXPECT_EQ(good.fetch(), 3);
  EXPECT_THROW(bad.fetch(), closure_error);
  EXPECT_EQ(c->failures().at(0).message, "x");
}

struct detached_coordinator : coordinator {
  detached_coordinator() : coordinator({.name = "left", .detached = true}) {}
};

TEST_F(detached_coordinator, detached_session_finishes_its_work) {
  c->schedule<int>("add", 1, 2).fetch();
  auto const v = c->schedule<int>("gate");
  c.reset();
  g.open();
  EXPECT_TRUE(server.eventually([](auto& core) {
    auto const job = core.sessions().list({}, 1).items.at(0);
    return !job.attached && job.detached && job.counts.succeeded == 2;
  }));
  EXPECT_THROW(v.fetch(), cancelled_error) << "this process gets no outcome";
}

TEST(parameter_server_failure, ends_the_process_with_the_requested_status) {
  auto const fail = [] {
    handle_parameter_server_failure([] {
      raise({failure_kind::dependency_lost, {}, "gone", {}, {}, 0});
    });
  };
  unsetenv("TF_CLIENT_NON_FATAL_RESTART_EXIT_CODE");
  EXPECT_THROW(fail(), unavailable_error);
  EXPECT_EQ(handle_parameter_server_failure([] { return 7; }), 7);
  setenv("TF_CLIENT_NON_FATAL_RESTART_EXIT_CODE", "83", 1);
  EXPECT_EXIT(fail(), testing::ExitedWithCode(83), "");
  EXPECT_THROW(handle_parameter_server_failure([] {
                 raise({failure_kind::user, {}, "mine", {}, {}, 0});
               }),
               closure_error);
  unsetenv("TF_CLIENT_NON_FATAL_RESTART_EXIT_CODE");
}

TEST_F(coordinator, join_ignores_calls_scheduled_after_it) {
  auto const before = c->with({.delay = milliseconds(200)}).schedule<int>("add", 1, 1);
  boost::asio::io_context context;
  auto joining = boost::asio::co_spawn(context, c->async_join(), boost::asio::use_future);
  context.poll();  // starts to wait
  auto const after = c->schedule<int>("gate");
  context.run_for(std::chrono::seconds(60));
  ASSERT_EQ(joining.wait_for(milliseconds(0)), std::future_status::ready)
      << "join waits for both calls";
  EXPECT_TRUE(joining.get());
  EXPECT_EQ(before.fetch(), 2);
  EXPECT_EQ(after.status(), value_status::not_ready);
  EXPECT_FALSE(c->join(milliseconds(10))) << "a later join waits for the call";
  g.open();
  EXPECT_TRUE(c->join());
}

TEST_F(coordinator, join_does_not_count_the_end_of_a_later_call) {
  auto const before = c->schedule<int>("gate");
  boost::asio::io_context context;
  auto joining = boost::asio::co_spawn(context, c->async_join(), boost::asio::use_future);
  context.poll();  // starts to wait
  EXPECT_EQ(c->schedule<int>("add", 1, 1).fetch(), 2);
  context.run_for(milliseconds(50));
  EXPECT_EQ(joining.wait_for(milliseconds(0)), std::future_status::timeout)
      << "the earlier call has not ended";
  g.open();
  context.restart();
  context.run_for(std::chrono::seconds(60));
  ASSERT_EQ(joining.wait_for(milliseconds(0)), std::future_status::ready);
  EXPECT_TRUE(joining.get());
  EXPECT_EQ(before.status(), value_status::ready);
}

}  // namespace
}  // namespace muster::test
