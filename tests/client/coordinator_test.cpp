#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <filesystem>
#include <latch>

#include "muster/session.hpp"
#include "tests/client/coordinator_fixture.hpp"
#include "tests/support/hand_worker.hpp"

namespace muster::test {
namespace {

TEST_F(coordinator, scheduled_calls_are_fetched) {
  auto const v = c->schedule<int>("add", 1, 2);
  EXPECT_EQ(v.fetch(), 3);
  EXPECT_EQ(v.fetch(), 3) << "again, from here";
  EXPECT_EQ(v.status(), value_status::ready);
  EXPECT_TRUE(v.id().starts_with("rv_"));
  EXPECT_TRUE(c->join());
  EXPECT_TRUE(c->done());
  EXPECT_EQ(c->schedule<value>("add", 1, 2).fetch().bytes, "3");
  EXPECT_EQ(c->schedule_raw<int>("add", {R"({"args":[1,2]})"}).fetch(), 3);
  c->schedule<void>("muster.noop").fetch();
}

TEST_F(coordinator, timed_out_wait_reports_why) {
  auto const message_of = [](auto const& wait) -> std::string {
    try {
      wait();
    } catch (wait_timeout const& e) {
      return e.what();
    }
    return "no timeout";
  };
  auto const value = c->submit<int>("nope");
  auto const of_closure = message_of([&] { value.fetch(milliseconds(600)); });
  EXPECT_NE(of_closure.find(": QUEUED"), std::string::npos) << of_closure;
  EXPECT_NE(of_closure.find("'nope'"), std::string::npos) << of_closure;
  auto const object = c->create({.task = "worker:7"}, "Counter");
  auto const of_object = message_of([&] { object.call<int>("value").fetch(milliseconds(600)); });
  EXPECT_NE(of_object.find("no task worker:7 has connected"), std::string::npos) << of_object;
}

TEST_F(coordinator, output_is_an_argument_without_a_round_trip) {
  auto const a = c->schedule<int>("add", 1, 2);
  auto const b = c->schedule<int>("add", a, 10);
  std::vector<remote_value<int>> const all{a, b, c->schedule<int>("add", b, a)};
  EXPECT_EQ(c->schedule<int>("sum", all).fetch(), 3 + 13 + 16);
  EXPECT_EQ(c->schedule<int>("add", a, 100).fetch(), 103) << "the value was kept";
}

TEST_F(coordinator, keyword_arguments_follow_positional_arguments) {
  EXPECT_EQ(c->schedule<int>("subtract", 10, keyword("from", 50)).fetch(), 40);
  EXPECT_EQ(c->schedule<int>("subtract", keyword("from", 50), keyword("what", 8)).fetch(), 42);
  auto const v = c->schedule<int>("add", 1, 2);
  EXPECT_EQ(c->schedule<int>("subtract", 1, keyword("from", v)).fetch(), 2)
      << "an output is accepted as well";
  EXPECT_EQ(c->with({.priority = 3})
                .schedule<int>("subtract", keyword("what", v), keyword("from", 5))
                .fetch(),
            2);
  EXPECT_EQ(
      c->schedule_gang<int>("subtract", std::vector{std::tuple{1, keyword("from", 3)}})[0].fetch(),
      2);
  EXPECT_THROW(c->schedule<int>("subtract", keyword("from", 1), keyword("from", 2)),
               std::invalid_argument);
  EXPECT_THROW(c->schedule<int>("subtract", 1, keyword("nobody", 2)).fetch(), input_error);
  session s({.server = server.address()});
  EXPECT_EQ(s.call<int>("subtract", 1, keyword("from", 3)).get(), 2);
  EXPECT_THROW(s.call<int>("subtract", keyword("from", 1), keyword("from", 3)),
               std::invalid_argument);
}

TEST_F(coordinator, gang_starts_together) {
  auto const gates = c->schedule_gang<int>("gate", std::vector<std::tuple<>>(4));
  g.wait_for(4);
  auto const second =
      c->with({.priority = 3})
          .schedule_gang<int>("add", std::vector{std::tuple{1, 2}, std::tuple{3, 4}});
  EXPECT_EQ(second[0].status(), value_status::not_ready) << "no two slots are idle";
  g.open();
  EXPECT_EQ(c->fetch(gates), std::vector(4, 1));
  EXPECT_EQ(c->fetch(second), (std::vector{3, 7}));
  EXPECT_THROW(c->schedule_gang<int>("add", std::vector<std::tuple<int, int>>()),
               std::invalid_argument);
  EXPECT_THROW(c->schedule_gang<int>("gate", std::vector<std::tuple<>>(1025)),
               std::invalid_argument);
}

TEST_F(coordinator, input_can_be_dropped_once_it_is_used) {
  remote_value<int> last = c->schedule<int>("add", 0, 1);
  for (int i = 0; i < 200; ++i) last = c->schedule<int>("add", last, 1);
  EXPECT_EQ(last.fetch(), 201);
  EXPECT_TRUE(held(1));
  last.release();
  EXPECT_TRUE(held(0));
}

TEST_F(coordinator, value_of_another_coordinator_is_an_argument_once_it_is_ready) {
  cluster_coordinator other({.server = server.address()});
  auto const v = other.schedule<int>("add", 20, 20);
  EXPECT_EQ(v.fetch(), 40);
  EXPECT_EQ(c->schedule<int>("add", v, 2).fetch(), 42);
  auto const pending = other.schedule<int>("gate");
  EXPECT_THROW(c->schedule<int>("add", pending, 2), std::invalid_argument);
}

TEST_F(coordinator, structure_of_values_is_fetched_as_one) {
  auto const one = [&](int n) { return c->schedule<int>("add", n, 0); };
  std::map<std::string, std::vector<remote_value<int>>> const s{{"a", {one(1), one(2)}},
                                                                {"b", {one(3)}}};
  auto const got = c->fetch(s);
  EXPECT_EQ(got, (std::map<std::string, std::vector<int>>{{"a", {1, 2}}, {"b", {3}}}));
  auto const t = c->fetch(std::tuple{one(4), std::string("kept"), std::optional{one(5)}});
  EXPECT_EQ(t, (std::tuple{4, std::string("kept"), std::optional{5}}));
}

TEST_F(coordinator, error_has_all_details_and_is_raised_once) {
  auto const bad = c->schedule<int>("raise", "no good");
  try {
    c->join();
    FAIL();
  } catch (closure_error const& e) {
    EXPECT_EQ(e.kind(), failure_kind::user);
    EXPECT_EQ(e.type(), "ValueError");
    EXPECT_EQ(e.message(), "no good");
    EXPECT_EQ(e.worker(), "worker:0");
    EXPECT_EQ(e.attempt(), 1u);
    EXPECT_EQ(e.traceback(), "line 1\nline 2");
  }
  EXPECT_TRUE(c->join());
  EXPECT_TRUE(c->done());
  EXPECT_THROW(bad.fetch(), closure_error) << "the value keeps its error";
  EXPECT_EQ(c->failures().size(), 1u);
  EXPECT_EQ(c->schedule<int>("add", 1, 1).fetch(), 2);
}

TEST_F(coordinator, exactly_one_of_many_callers_gets_the_error) {
  for (int round = 0; round < 20; ++round) {
    c->schedule<int>("raise", "x");
    std::atomic<int> raised = 0;
    std::latch start(8);
    std::vector<std::thread> all;
    for (int i = 0; i < 8; ++i)
      all.emplace_back([&, i] {
        start.arrive_and_wait();
        try {
          i % 2 ? static_cast<void>(c->join()) : static_cast<void>(c->done());
        } catch (closure_error const&) {
          ++raised;
        }
      });
    for (auto& t : all) t.join();
    try {
      c->join();  // an earlier done() may have missed the error
    } catch (closure_error const&) {
      ++raised;
    }
    EXPECT_EQ(raised, 1);
  }
}

TEST_F(coordinator, error_is_raised_after_all_calls_of_its_generation_ended) {
  std::vector<remote_value<int>> running;
  for (int i = 0; i < 2; ++i) running.push_back(c->schedule<int>("gate"));
  g.wait_for(2);
  c->schedule<int>("raise", "first");
  EXPECT_THROW(c->join(), closure_error);
  EXPECT_EQ(g.waiting, 0);
  for (auto const& v : running) EXPECT_THROW(v.fetch(), cancelled_error);
}

TEST_F(coordinator, each_kind_of_error_has_its_own_type) {
  EXPECT_THROW(c->schedule<int>("add", "text", 1).fetch(), input_error);
  EXPECT_THROW(c->join(), input_error);
  auto const v = c->schedule<int>("nobody.has.this");
  v.cancel();
  EXPECT_THROW(v.fetch(), cancelled_error);
  EXPECT_TRUE(c->join()) << "a cancelled closure is not an error";
  auto const slow = c->with({.deadline = milliseconds(20)}).schedule<int>("nobody.has.this");
  try {
    slow.fetch();
    FAIL();
  } catch (closure_error const& e) {
    EXPECT_EQ(e.kind(), failure_kind::timeout);
  }
}

TEST_F(coordinator, cancel_ends_queued_calls_but_not_the_next_generation) {
  auto const queued = c->schedule<int>("nobody.has.this");
  c->cancel();
  EXPECT_EQ(c->schedule<int>("add", 1, 1).fetch(), 2);
  EXPECT_THROW(queued.fetch(), cancelled_error);
  EXPECT_TRUE(c->join());
}

TEST_F(coordinator, waits_have_timeouts) {
  auto const v = c->schedule<int>("nobody.has.this");
  EXPECT_THROW(v.fetch(milliseconds(10)), wait_timeout);
  EXPECT_FALSE(c->join(milliseconds(10)));
  EXPECT_FALSE(c->done());
  EXPECT_EQ(v.status(), value_status::not_ready);
}

TEST_F(coordinator, empty_or_released_handle_throws_logic_error) {
  remote_value<int> v;
  EXPECT_FALSE(v.valid());
  EXPECT_THROW(v.fetch(), std::logic_error);
  v = c->schedule<int>("add", 1, 2);
  v.release();
  EXPECT_THROW(v.fetch(), std::logic_error);
  EXPECT_TRUE(c->join());
  EXPECT_TRUE(held(0));
}

TEST_F(coordinator, options_reach_the_server) {
  auto const v =
      c->with({.delay = milliseconds(30), .max_retries = 2, .retry_initial = milliseconds(1)})
          .schedule<int>("raise", "again");
  EXPECT_THROW(v.fetch(), closure_error);
  try {
    c->join();
  } catch (closure_error const& e) {
    EXPECT_EQ(e.attempt(), 3u);
  }
  EXPECT_THROW(c->with({.priority = 2'000'000}).schedule<int>("add", 1, 1).fetch(), input_error);
  EXPECT_THROW(c->join(), input_error);
}

// Workers whose processes end while they execute `dies`.
struct lost_processes : testing::Test {
  test_server server;

  coordinator_options with(std::optional<std::uint32_t> limit) const {
    coordinator_options o;
    o.server = server.address();
    o.max_worker_failures = limit;
    return o;
  }
  void end_processes(std::uint32_t count) {
    for (std::uint32_t i = 1; i <= count; ++i) {
      hand_worker worker(server.address(), make_hello({"dies"}, 1, 1, i));
      auto const given = worker.read_closures();
      ASSERT_TRUE(given);
      v1::WorkerMessage m;
      m.mutable_process_end()->set_closure(given->closure(0));
      m.mutable_process_end()->set_attempt(given->attempt(0));
      m.mutable_process_end()->set_how("its process 7 was killed by SIGSEGV");
      worker.write(m);
      while (worker.read()) {
      }
    }
  }
};

TEST_F(lost_processes, closure_fails_after_three_processes_die_by_default) {
  cluster_coordinator c(with(std::nullopt));
  auto const value = c.schedule<int>("dies");
  end_processes(3);
  try {
    value.fetch(milliseconds(10'000));
    ADD_FAILURE() << "the closure has a value";
  } catch (aborted_error const& e) {
    EXPECT_NE(std::string(e.what()).find("its process 7 was killed by SIGSEGV"), std::string::npos)
        << e.what();
  }
  cluster_coordinator strict(with(1));
  auto const once = strict.schedule<int>("dies");
  end_processes(1);
  EXPECT_THROW(once.fetch(milliseconds(10'000)), aborted_error);
}

TEST_F(lost_processes, closure_is_retried_without_limit_if_the_limit_is_zero) {
  cluster_coordinator c(with(0));
  auto const value = c.schedule<int>("dies");
  end_processes(4);
  hand_worker worker(server.address(), make_hello({"dies"}, 1, 1, 9));
  auto const given = worker.read_closures();
  ASSERT_TRUE(given);
  EXPECT_EQ(given->attempt(0), 5u);
  EXPECT_TRUE(worker.answer(*given, "5"));
  EXPECT_EQ(value.fetch(milliseconds(10'000)), 5);
}

TEST_F(coordinator, awaitables_resume_on_their_own_executor) {
  namespace asio = boost::asio;
  asio::io_context context;
  auto const body = [&]() -> asio::awaitable<int> {
    auto const v = c->schedule<int>("add", 1, 2);
    int const got = co_await v.async_fetch();
    EXPECT_TRUE(context.get_executor().running_in_this_thread());
    bool const joined = co_await c->async_join();
    EXPECT_TRUE(joined);
    bool late = false;
    try {
      co_await c->schedule<int>("nobody.has.this").async_fetch(milliseconds(10));
    } catch (wait_timeout const&) {
      late = true;
    }
    EXPECT_TRUE(late);
    co_return got;
  };
  auto result = asio::co_spawn(context, body, asio::use_future);
  context.run();
  EXPECT_EQ(result.get(), 3);
}

TEST_F(coordinator, values_outlive_the_coordinator_but_its_threads_do_not) {
  workers->stop();
  workers.reset();
  auto const threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  c.reset();
  auto const before = threads();
  auto w = options_for(server.address());
  std::optional<worker_thread> other;
  other.emplace(w, [](worker& to) { to.function("add", [](int a, int b) { return a + b; }); });
  std::optional<cluster_coordinator> mine;
  mine.emplace(coordinator_options{.server = server.address()});
  auto const v = mine->schedule<int>("add", 1, 2);
  auto const never = mine->schedule<int>("nobody.has.this");
  EXPECT_EQ(v.fetch(), 3);
  other.reset();
  mine.reset();
  EXPECT_EQ(threads(), before);
  EXPECT_EQ(v.fetch(), 3);
  EXPECT_THROW(never.fetch(), cancelled_error);
  EXPECT_TRUE(held(0)) << "its session is closed";
}

TEST_F(coordinator, unreachable_server_raises_unavailable) {
  cluster_coordinator nobody({.server = "127.0.0.1:1", .connect_timeout = milliseconds(50)});
  auto const v = nobody.schedule<int>("f");
  EXPECT_THROW(nobody.wait_open(), unavailable_error);
  EXPECT_THROW(v.fetch(), unavailable_error);
  EXPECT_THROW(nobody.join(), unavailable_error);
  EXPECT_THROW(nobody.schedule<int>("f"), unavailable_error);
}

TEST_F(coordinator, restarted_server_raises_unavailable) {
  std::optional<test_server> first;
  first.emplace();
  int const port = first->port();
  cluster_coordinator mine({.server = first->address()});
  auto const v = mine.schedule<int>("f");
  mine.wait_open();
  first.reset();
  test_server_options o;
  o.port = port;
  o.sessions.server_incarnation = [] { return std::uint64_t{5}; };
  test_server second(o);
  try {
    v.fetch();
    FAIL();
  } catch (unavailable_error const& e) {
    EXPECT_EQ(e.message(),
              "open.resume: the session belongs to another server, or was lost in a restart "
              "without --data-dir");
  }
}

}  // namespace
}  // namespace muster::test
