// TensorFlow's suite tests these with per-worker values, datasets and iterators.
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include "server/core/queries/value_queries.hpp"
#include "server/core/queries/worker_queries.hpp"
#include "tests/conformance/coordinator/datasets.hpp"
#include "tests/conformance/coordinator/fixture.hpp"

namespace muster::test {
namespace {

closure_options on(int index) {
  closure_options o;
  o.task_job = "worker";
  o.task_index = index;
  return o;
}

struct coordinator_conformance_per_worker : conformance, testing::WithParamInterface<bool> {
  coordinator_conformance_per_worker()
      : conformance(3, GetParam() ? of_two() : coordinator_options()) {
    await_workers(3);
  }

  void await_workers(std::size_t n) {
    ASSERT_TRUE(server.eventually(
        [n](auto& core) { return core.workers().list(0, 100, {}).items.size() >= n; }));
  }
  template <class Result, class... Args>
  std::vector<Result> on_each(std::string_view function, Args const&... args) {
    std::vector<remote_value<Result>> all;
    for (std::size_t i = 0; i < workers.size(); ++i)
      all.push_back(c->with(on(static_cast<int>(i))).template schedule<Result>(function, args...));
    return c->fetch(all, std::chrono::seconds(60));
  }
};

INSTANTIATE_TEST_SUITE_P(queue, coordinator_conformance_per_worker, testing::Bool(),
                         [](auto const& i) { return i.param ? "LimitedQueue" : "Default"; });

TEST_P(coordinator_conformance_per_worker, testPerWorkerValue) {
  auto const counter = c->create_per_worker_value("counter");
  for (int i = 0; i < 10; ++i) c->schedule<int>("add", counter, 1);
  c->join();
  auto const counts = on_each<int>("add", counter, 0);
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0), 10);
}

TEST_P(coordinator_conformance_per_worker, testWorkerIndexDatasetFn) {
  start_worker();
  start_worker();
  await_workers(5);
  auto const data = c->create_per_worker_value("sharded", 10);
  std::vector<int> sums;
  for (auto const& shard : on_each<std::vector<int>>("rest", data))
    sums.push_back(std::accumulate(shard.begin(), shard.end(), 0));
  EXPECT_EQ(sums, (std::vector{5, 7, 9, 11, 13}));
}

TEST_P(coordinator_conformance_per_worker, testInputFunction) {
  for (int round = 0; round < 2; ++round) {
    auto const fresh = c->create_per_worker_value("dataset", 10);
    EXPECT_EQ(c->with(on(0)).schedule<int>("next", fresh).fetch(), 0);
    EXPECT_EQ(c->with(on(0)).schedule<int>("next", fresh).fetch(), 1);
  }
}

TEST_P(coordinator_conformance_per_worker, testDatasetsShuffledDifferently) {
  auto const data = c->create_per_worker_value("shuffled", 100);
  auto const orders = on_each<std::vector<int>>("rest", data);
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_NE(orders[1], orders[2]);
}

TEST_P(coordinator_conformance_per_worker, testMultipleDatasets) {
  auto const a = c->create_per_worker_value("dataset", 10);
  auto const b = c->create_per_worker_value("dataset", 10);
  auto const at = c->with(on(1));
  EXPECT_EQ(at.schedule<int>("next", a).fetch(), 0);
  EXPECT_EQ((at.schedule<std::pair<int, int>>("next_of_both", a, b).fetch()), (std::pair{1, 0}));
  EXPECT_EQ((at.schedule<std::pair<int, int>>("next_of_both", a, b).fetch()), (std::pair{2, 1}));
}

TEST_P(coordinator_conformance_per_worker, testRepeatedIteratorCreation) {
  ASSERT_EQ(live_iterators, 0);
  for (int round = 0; round < 10; ++round) {
    auto const data = c->create_per_worker_value("dataset", 3);
    auto const first = on_each<int>("next", data);
    EXPECT_EQ(first, (std::vector{0, 0, 0}));
  }
  EXPECT_TRUE(
      server.eventually([](auto& core) { return core.per_worker().list({}, 1).items.empty(); }));
  for (int i = 0; i < 6'000 && live_iterators > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // workers do not report drops
  EXPECT_EQ(live_iterators, 0) << "dropped on every worker";
}

TEST_P(coordinator_conformance_per_worker, testPerWorkerDatasetBuild) {
  auto const value = c->create_per_worker_value("muster.worker_info");
  auto const infos = on_each<boost::json::value>("muster.echo", value);
  for (std::size_t i = 0; i < infos.size(); ++i)
    EXPECT_EQ(infos[i].at("index").to_number<std::size_t>(), i) << "itself as an argument";
}

TEST_P(coordinator_conformance_per_worker, testInputError) {
  auto const broken = c->create_per_worker_value("fail", "no such file");
  auto const user = c->schedule<int>("next", broken);
  EXPECT_THROW(c->join(), input_error);
  try {
    user.fetch();
    ADD_FAILURE() << "a value was fetched";
  } catch (input_error const& e) {
    EXPECT_NE(e.message().find(broken.id()), std::string::npos) << e.message();
    EXPECT_NE(e.message().find("no such file"), std::string::npos) << e.message();
  }
}

TEST_P(coordinator_conformance_per_worker, testErroredInputNotUsed) {
  auto const broken = c->create_per_worker_value("fail", "no such file");
  EXPECT_EQ(c->schedule<int>("step", 1).fetch(), 1);
  EXPECT_TRUE(c->join());
  EXPECT_TRUE(c->done());
}

TEST_P(coordinator_conformance_per_worker, testResourceCanStillbeUsedAfterCancellation) {
  auto const counter = c->create_per_worker_value("counter");
  EXPECT_EQ(on_each<int>("add", counter, 1), (std::vector{1, 1, 1}));
  c->schedule<int>("fail", "numeric trouble");
  EXPECT_EQ(raised_by([&] { c->join(); }), "numeric trouble");
  EXPECT_EQ(on_each<int>("add", counter, 1), (std::vector{2, 2, 2}));
}

// Join does not wait for builds.
TEST_P(coordinator_conformance_per_worker, testPutGetWithTag) {
  auto const value = c->create_per_worker_value("hold_on", 2);
  held.wait_for(1);
  for (int i = 0; i < 4; ++i) c->schedule<int>("step", 1);
  EXPECT_TRUE(c->join());
  EXPECT_TRUE(c->done());
  EXPECT_EQ(held.waiting, 1);
  held.open();
  EXPECT_EQ(on_each<int>("muster.echo", value), (std::vector{0, 1, 2}));
}

TEST_P(coordinator_conformance_per_worker, nothing_but_plain_arguments_reaches_a_builder) {
  auto const value = c->create_per_worker_value("counter");
  EXPECT_THROW(c->create_per_worker_value("add", value, 1), std::invalid_argument);
  EXPECT_THROW(c->schedule<int>("add", per_worker_value(), 1), std::logic_error);
}

// Returns for example "worker:0 ready, worker:1 not_ready", with errors.
std::string text(std::vector<per_worker_component> const& all) {
  std::string t;
  for (auto const& c : all) {
    auto const status = c.status == value_status::ready     ? " ready"
                        : c.status == value_status::aborted ? " aborted"
                                                            : " not_ready";
    t += (t.empty() ? "" : ", ") + c.task + status + (c.failure ? ": " + c.failure->message : "");
  }
  return t;
}

TEST_P(coordinator_conformance_per_worker, handle_reports_its_state_on_every_worker) {
  auto const one_waits = c->create_per_worker_value("hold_on", 2);
  held.wait_for(1);
  auto const become = [](per_worker_value const& v, std::string const& expected) {
    for (int i = 0; i < 2'000 && text(v.components()) != expected; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return text(v.components());
  };
  std::string const waits = "worker:0 ready, worker:1 ready, worker:2 not_ready";
  EXPECT_EQ(become(one_waits, waits), waits);
  held.open();
  std::string const all = "worker:0 ready, worker:1 ready, worker:2 ready";
  EXPECT_EQ(become(one_waits, all), all);
  std::string const broken =
      "worker:0 ready: no file, worker:1 ready: no file, worker:2 ready: no file";
  EXPECT_EQ(become(c->create_per_worker_value("fail", "no file"), broken), broken);
  EXPECT_THROW(per_worker_value().components(), std::logic_error);
}

TEST_P(coordinator_conformance_per_worker, awaitable_reports_the_state_and_can_be_cancelled) {
  auto const value = c->create_per_worker_value("counter");
  boost::asio::io_context io;
  auto asked = boost::asio::co_spawn(io, value.async_components(), boost::asio::use_future);
  boost::asio::cancellation_signal signal;
  auto given_up = boost::asio::co_spawn(
      io, value.async_components(),
      boost::asio::bind_cancellation_slot(signal.slot(), boost::asio::use_future));
  boost::asio::post(io, [&] { signal.emit(boost::asio::cancellation_type::terminal); });
  io.run();
  EXPECT_EQ(asked.get().size(), 3u);
  try {
    given_up.get();  // throws unless the call finished before the cancellation
  } catch (boost::system::system_error const& e) {
    EXPECT_EQ(e.code(), boost::asio::error::operation_aborted);
  }
}

TEST_P(coordinator_conformance_per_worker, objects_are_parameters_within_structures) {
  auto const a = c->create_per_worker_value("dataset", 10);
  auto const b = c->create_per_worker_value("dataset", 20);
  auto const at = c->with(on(1));
  EXPECT_EQ(at.schedule<int>("next_of_all", std::vector{a, b}).fetch(), 0);
  EXPECT_EQ(
      at.schedule<int>("next_of_named", std::map<std::string, per_worker_value>{{"a", a}}).fetch(),
      1);
  EXPECT_EQ(at.schedule<int>("next_of_named",
                             keyword("by_name", std::map<std::string, per_worker_value>{{"b", b}}))
                .fetch(),
            1);
  EXPECT_EQ(at.schedule<int>("next_of_pair", std::pair{a, 40}).fetch(), 42);
  EXPECT_EQ(raised_by([&] { at.schedule<int>("next_of_all", std::vector{1}).fetch(); }),
            "argument 1: expected a per-worker value, {\"$per_worker\":\"pw_…\"}, got a number 1");
}

TEST_P(coordinator_conformance_per_worker, awaitable_can_create_a_value) {
  boost::asio::io_context io;
  auto const run = [](cluster_coordinator& of) -> boost::asio::awaitable<int> {
    auto const counter = co_await of.async_create_per_worker_value("counter");
    auto const sum = of.schedule<int>("add", counter, 7);
    co_return co_await sum.async_fetch();
  };
  auto answer = boost::asio::co_spawn(io, run(*c), boost::asio::use_future);
  io.run();
  EXPECT_EQ(answer.get(), 7);
}

}  // namespace
}  // namespace muster::test
