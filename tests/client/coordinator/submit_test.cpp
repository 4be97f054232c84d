#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <future>

#include "tests/client/coordinator_fixture.hpp"
#include "tests/client/fake_server.hpp"

namespace muster::test {
namespace {

using coordinator_submit = coordinator;

constexpr std::chrono::seconds deadline{60};

TEST_F(coordinator_submit, calls_a_function_with_outputs_as_arguments) {
  auto const a = c->submit<int>("add", 1, 2);
  std::vector<remote_value<int>> const all{a, c->submit<int>("add", a, 10)};
  EXPECT_EQ(c->submit<int>("sum", all).fetch(deadline), 3 + 13);
  EXPECT_EQ(c->submit<int>("subtract", 1, keyword("from", a)).fetch(deadline), 2);
  EXPECT_EQ(c->submit_raw<int>("add", {R"({"args":[1,2]})"}).fetch(deadline), 3);
  EXPECT_EQ(c->schedule<int>("add", a, 1).fetch(deadline), 4)
      << "a scheduled call uses the value as well";
  EXPECT_THROW(c->submit<int>("subtract", keyword("from", 1), keyword("from", 2)),
               std::invalid_argument);
}

TEST_F(coordinator_submit, error_is_thrown_only_by_its_own_value) {
  auto const running = c->submit<int>("gate");
  g.wait_for(1);
  auto const failed = c->submit<int>("raise", "mine");
  for (int i = 0; i < 2; ++i) {
    try {
      failed.fetch(deadline);
      FAIL();
    } catch (closure_error const& e) {
      EXPECT_EQ(e.message(), "mine");
    }
  }
  EXPECT_EQ(c->submit<int>("add", 1, 1).fetch(deadline), 2);
  EXPECT_EQ(c->schedule<int>("add", 1, 1).fetch(deadline), 2);
  EXPECT_FALSE(c->done());
  EXPECT_TRUE(c->failures().empty());
  g.open();
  EXPECT_EQ(running.fetch(deadline), 1);
  EXPECT_TRUE(c->join(deadline));
}

TEST_F(coordinator_submit, failed_input_fails_the_calls_that_use_it) {
  auto const failed = c->submit<int>("raise", "mine");
  auto const user = c->submit<int>("add", failed, 1);
  EXPECT_THROW(user.fetch(deadline), input_error);
  EXPECT_EQ(c->submit<int>("add", 1, 1).fetch(deadline), 2);
}

TEST_F(coordinator_submit, error_of_a_scheduled_call_cancels_no_submitted_call) {
  auto const running = c->submit<int>("gate");
  std::vector<remote_value<int>> queued;
  for (int i = 0; i < 20; ++i) queued.push_back(c->submit<int>("add", i, 1));
  g.wait_for(1);
  auto const scheduled = c->schedule<int>("gate");
  g.wait_for(2);
  EXPECT_THROW(c->schedule<int>("raise", "whole").fetch(deadline), closure_error);
  auto const during = c->submit<int>("add", 1, 1);  // does not wait for a drain
  EXPECT_EQ(during.fetch(deadline), 2);
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(queued[static_cast<std::size_t>(i)].fetch(deadline), i + 1);
  EXPECT_THROW(scheduled.fetch(deadline), cancelled_error);
  EXPECT_EQ(running.status(), value_status::not_ready);
  g.open();
  EXPECT_EQ(running.fetch(deadline), 1);
  EXPECT_THROW(c->join(deadline), closure_error);
  EXPECT_TRUE(c->join(deadline));
}

TEST_F(coordinator_submit, value_or_coordinator_cancels_a_submitted_call) {
  auto const one = c->submit<int>("nobody.has.this");
  auto const other = c->submit<int>("nobody.has.this");
  one.cancel();
  EXPECT_THROW(one.fetch(deadline), cancelled_error);
  EXPECT_EQ(other.status(), value_status::not_ready);
  c->cancel();
  EXPECT_THROW(other.fetch(deadline), cancelled_error);
  EXPECT_EQ(c->submit<int>("add", 1, 1).fetch(deadline), 2);
  EXPECT_TRUE(c->join(deadline));
}

TEST_F(coordinator_submit, cancel_ends_a_submitted_call_while_an_error_is_pending) {
  auto const submitted = c->submit<int>("nobody.has.this");
  auto const running = c->schedule<int>("gate");
  g.wait_for(1);
  EXPECT_THROW(c->schedule<int>("raise", "whole").fetch(deadline), closure_error);
  c->cancel();
  EXPECT_THROW(submitted.fetch(deadline), cancelled_error);
  EXPECT_THROW(c->join(deadline), closure_error);
}

TEST_F(coordinator_submit, options_reach_the_server) {
  auto const retried =
      c->with({.max_retries = 2, .retry_initial = milliseconds(1)}).submit<int>("raise", "again");
  try {
    retried.fetch(deadline);
    FAIL();
  } catch (closure_error const& e) {
    EXPECT_EQ(e.attempt(), 3u);
  }
  EXPECT_EQ(c->with({.priority = 3}).submit_raw<int>("add", {"[1,2]"}).fetch(deadline), 3);
  auto const slow = c->with({.deadline = milliseconds(20)}).submit<int>("nobody.has.this");
  try {
    slow.fetch(deadline);
    FAIL();
  } catch (closure_error const& e) {
    EXPECT_EQ(e.kind(), failure_kind::timeout);
  }
  EXPECT_TRUE(c->join(deadline));
}

TEST_F(coordinator_submit, asynchronous_version_resumes_on_its_executor) {
  namespace asio = boost::asio;
  asio::io_context context;
  auto const body = [&]() -> asio::awaitable<int> {
    auto const failed = co_await c->async_submit<int>("raise", std::string("mine"));
    EXPECT_TRUE(context.get_executor().running_in_this_thread());
    bool thrown = false;
    try {
      co_await failed.async_fetch();
    } catch (closure_error const&) {
      thrown = true;
    }
    EXPECT_TRUE(thrown);
    auto const with = c->with({.priority = 2});
    auto const v = co_await with.async_submit<int>("add", 1, 2);
    int const got = co_await v.async_fetch();
    co_return got;
  };
  auto result = asio::co_spawn(context, body, asio::use_future);
  context.run();
  EXPECT_EQ(result.get(), 3);
}

TEST_F(coordinator_submit, gang_starts_together_and_its_error_affects_no_other_call) {
  auto const gates = c->submit_gang<int>("gate", std::vector<std::tuple<>>(4));
  g.wait_for(4);
  auto const second = c->with({.priority = 3})
                          .submit_gang<int>("add", std::vector{std::tuple{1, 2}, std::tuple{3, 4}});
  EXPECT_EQ(second[0].status(), value_status::not_ready) << "no two slots are idle";
  g.open();
  EXPECT_EQ(c->fetch(gates), std::vector(4, 1));
  EXPECT_EQ(c->fetch(second), (std::vector{3, 7}));
  auto const failed = c->submit_gang<int>("raise", std::vector{std::tuple{std::string("mine")}});
  EXPECT_THROW(failed[0].fetch(deadline), closure_error);
  EXPECT_EQ(c->schedule<int>("add", 1, 1).fetch(deadline), 2) << "nothing is pending";
  EXPECT_TRUE(c->join(deadline));
  EXPECT_THROW(c->submit_gang<int>("add", std::vector<std::tuple<int, int>>()),
               std::invalid_argument);
}

TEST_F(coordinator_submit, gang_can_be_submitted_by_a_coroutine) {
  namespace asio = boost::asio;
  asio::io_context context;
  auto const body = [&]() -> asio::awaitable<int> {
    std::vector const members{std::tuple{1, 2}, std::tuple{3, 4}};
    auto submitting = c->async_submit_gang<int>("add", members);
    auto const values = co_await std::move(submitting);
    EXPECT_TRUE(context.get_executor().running_in_this_thread());
    int const first = co_await values[0].async_fetch();
    int const second = co_await values[1].async_fetch();
    co_return first + second;
  };
  auto result = asio::co_spawn(context, body, asio::use_future);
  context.run();
  EXPECT_EQ(result.get(), 10);
}

// Submitted calls are scheduled if the server lacks Opened.own_errors, also before its answer
// arrives.
TEST(coordinator_submit_to_an_older_server, submit_schedules_the_call) {
  fake_server server;
  std::promise<std::uint32_t> later;
  server.on_session = [&](session_stream* s) {
    v1::SessionRequest asked;
    std::uint64_t token = 0;
    while (token == 0 && s->Read(&asked))
      if (asked.token_size() > 0) token = asked.token(0);
    v1::SessionResponse m;
    m.mutable_opened()->set_session("job_0000000000000001");
    m.mutable_opened()->set_generation(1);
    auto& failed = *m.add_notice();
    failed.set_kind(v1::Notice::FAILED);
    failed.set_generation(1);
    failed.mutable_failure()->set_message("first");
    m.add_token(token);
    m.add_closure(1);
    m.add_value("");
    m.add_failure()->set_message("first");
    auto& drained = *m.add_notice();
    drained.set_kind(v1::Notice::DRAINED);
    drained.set_generation(1);
    s->Write(m);
    while (s->Read(&asked))
      if (asked.token_size() > 0) later.set_value(asked.generation());
    return grpc::Status::OK;
  };
  cluster_coordinator c({.server = server.address()});
  auto const early = c.submit<int>("add", 1, 2);
  EXPECT_THROW(early.fetch(deadline), closure_error);
  EXPECT_EQ(c.failures().size(), 1u) << "as of a scheduled call";
  EXPECT_THROW(c.submit<int>("add", 1, 2), closure_error) << "the pending error, once";
  auto const next = c.submit<int>("add", 1, 2);
  EXPECT_EQ(later.get_future().get(), 2u) << "in a generation, as a scheduled call";
}

struct coordinator_submit_full : coordinator {
  coordinator_submit_full()
      : coordinator({.queue_capacity = 2, .schedule_timeout = milliseconds(20), .pending_max = 8}) {
  }
};

TEST_F(coordinator_submit_full, submit_waits_for_room_until_its_timeout) {
  std::string const large(1'000'000, 'x');
  auto const fill = [&] {
    for (int i = 0; i < 1'000; ++i) c->submit<int>("nobody.has.this", large);
  };
  EXPECT_THROW(fill(), wait_timeout);
}

}  // namespace
}  // namespace muster::test
