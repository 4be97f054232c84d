#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <thread>

#include "tests/client/objects/objects_fixture.hpp"

namespace muster::test {
namespace {

TEST_F(objects, are_created_and_called) {
  auto const steps = c->create({.task = "ps:0", .name = "steps"}, "Counter", 5);
  EXPECT_EQ(steps.task(), "ps:0");
  EXPECT_EQ(steps.class_name(), "Counter");
  EXPECT_EQ(steps.call<int>("add", 2).fetch(), 7);
  EXPECT_EQ(steps.call<int>("add", keyword("by", 3)).fetch(), 10);
  EXPECT_EQ(steps.call<int>("value").fetch(), 10);
  EXPECT_EQ(steps.call<std::string>("job").fetch(), "ps");
  auto const found = c->get_object("steps");
  EXPECT_EQ(found, steps);
  EXPECT_EQ(found.class_name(), "Counter");
  EXPECT_EQ(found.call<int>("value").fetch(), 10);
}

TEST_F(objects, are_created_before_their_task_connects) {
  auto const later = c->create({.task = "ps:1"}, "Counter", 1);
  auto const n = later.call<int>("add", 1);
  EXPECT_EQ(n.status(), value_status::not_ready);
  worker_thread one(ps_at(server.address(), 1), add_classes);
  EXPECT_EQ(n.fetch(), 2);
  EXPECT_EQ(n.status(), value_status::ready);
}

TEST_F(objects, calls_of_one_caller_are_executed_in_order) {
  auto const o = c->create({.task = "ps:0"}, "Counter", 0);
  std::vector<remote_value<int>> all;
  for (int i = 0; i < 5000; ++i) all.push_back(o.call<int>("add", 1));
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(all[static_cast<std::size_t>(i)].fetch(), i + 1);
}

// The last calls are sent in order before the session ends, also while other threads call.
TEST_F(objects, calls_stay_in_order_while_the_coordinator_closes) {
  for (int round = 0; round < 20; ++round) {
    auto const name = "rising" + std::to_string(round);
    std::optional<cluster_coordinator> one(std::in_place,
                                           coordinator_options{.server = server.address()});
    auto const o = one->create({.task = "ps:0", .name = name, .detached = true}, "Rising");
    std::atomic<int> calls = 0;
    std::thread others(
        [&] { EXPECT_THROW(for (;;) o.call<void>("next", ++calls), unavailable_error); });
    while (calls == 0) std::this_thread::yield();
    one.reset();
    others.join();
    EXPECT_TRUE(c->get_object(name).call<bool>("is_rising").fetch());
  }
}

TEST_F(objects, method_exception_is_reported_to_the_caller) {
  auto const o = c->create({.task = "ps:0"}, "Counter", 0);
  auto const e = thrown_by<closure_error>([&] { o.call<void>("raise", "broken").fetch(); });
  EXPECT_EQ(e.kind(), failure_kind::user);
  EXPECT_EQ(e.type(), "ValueError");
  EXPECT_EQ(e.message(), "broken");
  EXPECT_EQ(e.worker(), "ps:0");
  EXPECT_EQ(o.call<int>("add", 1).fetch(), 1);
  EXPECT_TRUE(c->join()) << "an error of a call is raised only by its value";
}

TEST_F(objects, invalid_call_is_reported) {
  auto const o = c->create({.task = "ps:0"}, "Counter", 0);
  EXPECT_EQ(thrown_by<input_error>([&] { o.call<int>("sub", 1).fetch(); }).message(),
            "'Counter' has no method 'sub'; its methods are: add, big, job, raise, value");
  EXPECT_EQ(thrown_by<input_error>([&] { o.call<int>("add", "two").fetch(); }).message(),
            "argument 1 (by): expected an integer in range, got a string \"two\"");
  EXPECT_THROW(o.call<int>(""), std::invalid_argument);
  EXPECT_THROW(o.call<int>(std::string(257, 'm')), std::invalid_argument);
  auto const large =
      thrown_by<closure_error>([&] { o.call<std::string>("big", std::size_t{32} << 20).fetch(); });
  EXPECT_EQ(large.type(), "muster::result_too_large");
  EXPECT_THROW(remote_object().call<int>("add", 1), std::logic_error);
}

TEST_F(objects, failed_creation_is_reported_to_callers) {
  auto const none = c->create({.task = "ps:0"}, "Weights", 3);
  auto const e = thrown_by<closure_error>([&] { none.call<int>("read").fetch(); });
  EXPECT_EQ(e.kind(), failure_kind::stale_handle);
  EXPECT_EQ(
      e.message(),
      "this C++ worker has no class 'Weights'; its classes are: Counter, Rising, Meeting, Caller");
  auto const threw = c->create({.task = "ps:0"}, "Counter", -1);
  EXPECT_EQ(thrown_by<closure_error>([&] { threw.call<int>("value").fetch(); }).message(),
            "it begins at 0");
  auto const wrong = c->create({.task = "ps:0"}, "Counter", "five");
  EXPECT_THROW(wrong.call<int>("value").fetch(), input_error);
  auto const many = c->create({.task = "ps:0", .concurrency = 2}, "Counter", 0);
  EXPECT_EQ(thrown_by<input_error>([&] { many.call<int>("value").fetch(); }).message(),
            "concurrency: 2, but the class 'Counter' allows at most 1");
}

TEST_F(objects, failed_object_does_not_delay_the_exit_of_its_worker) {
  struct broken {
    broken() { throw function_error("never", "ValueError"); }
    int get() { return 1; }
  };
  ps.reset();
  auto made = c->create({.task = "ps:0", .concurrency = 2}, "Broken");
  auto const first = made.call<int>("get"), second = made.call<int>("get");
  ps.emplace(ps_at(server.address()), [](worker& w) {
    w.object(object_class<broken>("Broken").method("get", &broken::get).concurrency(2));
  });
  EXPECT_THROW((void)first.fetch(), closure_error);
  EXPECT_THROW((void)second.fetch(), closure_error);
  ps->stop();
}

TEST_F(objects, invalid_option_is_named) {
  auto const refused = [&](object_options const& o) {
    return std::string(
        thrown_by<std::invalid_argument>([&] { c->create(o, "Counter", 0); }).what());
  };
  EXPECT_EQ(refused({.task = "ps"}),
            "object_options.task: 'ps', must be a job and an index, such as ps:0");
  EXPECT_EQ(refused({.task = "ps:0", .name = std::string(257, 'n')}),
            "object_options.name: 257 bytes, the limit is 256");
  EXPECT_EQ(refused({.task = "ps:0", .detached = true}),
            "object_options.detached: an object that outlives its coordinator needs a name");
  EXPECT_EQ(refused({.task = "ps:0", .concurrency = 0}),
            "object_options.concurrency: 0, must be at least 1");
  c->create({.task = "ps:0", .name = "taken"}, "Counter", 0);
  EXPECT_THROW(c->create({.task = "ps:0", .name = "taken"}, "Counter", 0), closure_error);
  EXPECT_THROW(c->get_object("nobody"), closure_error);
}

TEST_F(objects, end_when_they_are_erased_or_their_coordinator_closes) {
  auto const o = c->create({.task = "ps:0", .name = "m"}, "Meeting");
  auto const n = o.call<int>("pass");
  g.wait_for(1);
  o.erase();
  EXPECT_THROW(n.fetch(), cancelled_error);
  EXPECT_TRUE(server.eventually([](auto&) { return meeting::alive == 0; })) << "it heard of it";
  EXPECT_THROW(o.call<int>("pass").fetch(), closure_error);
  auto const again = c->create({.task = "ps:0", .name = "m"}, "Meeting");
  EXPECT_TRUE(server.eventually([](auto&) { return meeting::alive == 1; }));
  auto const kept = again.call<int>("pass");
  c.reset();
  EXPECT_TRUE(server.eventually([](auto&) { return meeting::alive == 0; }));
  EXPECT_THROW(kept.fetch(), closure_error);
  EXPECT_THROW(again.call<int>("pass"), unavailable_error);
}

TEST_F(objects, detached_objects_outlive_their_coordinator) {
  auto const made = c->create({.task = "ps:0", .name = "steps", .detached = true}, "Counter", 0);
  // Calls that still wait for their task are dropped with their caller.
  EXPECT_EQ(made.call<int>("value").fetch(), 0);
  (void)made.call<int>("add", 4);
  c.reset();
  cluster_coordinator other({.server = server.address()});
  auto const found = other.get_object("steps");
  EXPECT_EQ(found.call<int>("value").fetch(), 4) << "including the last call";
  found.erase();
  EXPECT_THROW(found.call<int>("value").fetch(), closure_error);
}

TEST_F(objects, run_methods_up_to_their_concurrency) {
  auto const o = c->create({.task = "ps:0", .concurrency = 3}, "Meeting");
  std::vector<remote_value<int>> all;
  for (int i = 0; i < 5; ++i) all.push_back(o.call<int>("pass"));
  g.wait_for(3);
  auto const one = c->create({.task = "ps:0"}, "Meeting");
  auto const two = std::vector{one.call<int>("pass"), one.call<int>("pass")};
  g.wait_for(4);
  EXPECT_EQ(g.waiting.load(), 4);
  g.open();
  EXPECT_EQ(c->fetch(all), (std::vector{1, 1, 1, 1, 1}));
  EXPECT_EQ(c->fetch(two), (std::vector{1, 1}));
}

TEST_F(objects, outputs_of_functions_and_methods_are_arguments_of_each_other) {
  worker_thread w(options_for(server.address()),
                  [](worker& to) { to.function("double", [](int n) { return 2 * n; }); });
  auto const o = c->create({.task = "ps:0"}, "Counter", c->schedule<int>("double", 5));
  auto const sum = o.call<int>("add", c->schedule<int>("double", 1));
  EXPECT_EQ(c->schedule<int>("double", sum).fetch(), 24);
  EXPECT_EQ(o.call<int>("add", sum).fetch(), 24);
}

TEST_F(objects, coroutines_await_calls) {
  auto const o = c->create({.task = "ps:0"}, "Counter", 0);
  boost::asio::io_context io;
  int got = 0;
  auto const body = [](remote_object of, int& to) -> boost::asio::awaitable<void> {
    auto const n = of.call<int>("add", 3);
    to = co_await n.async_fetch();
  };
  boost::asio::co_spawn(io, body(o, got), [](std::exception_ptr const& e) {
    if (e) std::rethrow_exception(e);
  });
  io.run();
  EXPECT_EQ(got, 3);
}

TEST_F(objects, timed_out_coroutine_reports_why_the_call_has_no_answer) {
  auto const later = c->create({.task = "ps:1"}, "Counter", 1);
  boost::asio::io_context io;
  std::string why;
  auto const body = [](remote_object of, std::string& to) -> boost::asio::awaitable<void> {
    auto const n = of.call<int>("value");
    try {
      co_await n.async_fetch(std::chrono::milliseconds(500));
    } catch (wait_timeout const& e) {
      to = e.what();
    }
  };
  boost::asio::co_spawn(io, body(later, why), [](std::exception_ptr const& e) {
    if (e) std::rethrow_exception(e);
  });
  io.run();
  EXPECT_TRUE(why.ends_with("no task ps:1 has connected to this server")) << why;
}

}  // namespace
}  // namespace muster::test
