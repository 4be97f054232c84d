// The programs in examples/, which docs/cpp.md shows, work as described.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

TEST(examples, a_worker_serves_a_session_and_a_coordinator) {
  cluster c;
  c.serve();
  auto& worker = c.program({MUSTER_EXAMPLES "worker", c.grpc()});
  ASSERT_TRUE(c.await_tasks(1));
  auto& session = c.program({MUSTER_EXAMPLES "session", c.grpc()});
  EXPECT_EQ(session.wait(), 0) << session.errors();
  EXPECT_CONTAINS(session.output(), "168 primes\n");
  EXPECT_CONTAINS(session.output(), "mean 3\nfailed on worker:0 as it should");
  auto& coordinator = c.program({MUSTER_EXAMPLES "coordinator", c.grpc()});
  EXPECT_EQ(coordinator.wait(), 0) << coordinator.errors();
  EXPECT_CONTAINS(coordinator.output(), "mean ");
  EXPECT_CONTAINS(coordinator.output(), "failed on worker:0 as it should");
  auto& coroutine = c.program({MUSTER_EXAMPLES "coroutine", c.grpc()});
  EXPECT_EQ(coroutine.wait(), 0) << coroutine.errors();
  EXPECT_CONTAINS(coroutine.output(), "168 primes\n");
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0) << worker.errors();
}

TEST(examples, workers_train_weights_on_a_parameter_server) {
  cluster c;
  c.serve();
  std::vector<process*> tasks;
  for (auto const* role : {"ps", "worker", "worker"})
    tasks.push_back(&c.program({MUSTER_EXAMPLES "objects", role, c.grpc()}));
  ASSERT_TRUE(c.await_tasks(3));
  auto& train = c.program({MUSTER_EXAMPLES "objects", "train", c.grpc()});
  EXPECT_EQ(train.wait(), 0) << train.errors();
  EXPECT_CONTAINS(train.output(), "2 2 2 are about 2\n");
  for (auto* t : tasks) {
    t->signal(SIGTERM);
    t->wait();
  }
}

TEST(examples, agents_pass_a_barrier) {
  cluster c;
  c.serve({"--cluster", "train:worker=2"});
  auto& zero = c.program({MUSTER_EXAMPLES "agent", "0", c.grpc()});
  auto& one = c.program({MUSTER_EXAMPLES "agent", "1", c.grpc()});
  EXPECT_EQ(zero.wait(), 0) << zero.errors();
  EXPECT_EQ(one.wait(), 0) << one.errors();
  auto const addresses = "address/0 is 10.0.0.0:4711\naddress/1 is 10.0.0.1:4711\n";
  EXPECT_CONTAINS(zero.output(), addresses);
  EXPECT_CONTAINS(one.output(), addresses);
  EXPECT_CONTAINS(zero.output() + one.output(), "200 steps so far\n");
}

TEST(examples, resolver_example_prints_its_task) {
  cluster c;
  auto& resolver = c.program(
      {MUSTER_EXAMPLES "resolver"},
      {{"TF_CONFIG",
        R"({"cluster":{"worker":["a:1","b:1"],"ps":["c:1"]},"task":{"type":"worker","index":1}})"}});
  EXPECT_EQ(resolver.wait(), 0) << resolver.errors();
  EXPECT_EQ(resolver.output(), "1 tasks of job ps\n2 tasks of job worker\nthis is worker:1\n");
}

}  // namespace
}  // namespace muster::e2e
