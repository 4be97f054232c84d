// ClusterCoordinatorTest, with the default queue and with a queue of two closures.
//
// Not ported: StrategyIntegrationTest and parameter_server_strategy_v2_test, which test
// TensorFlow's variables, graphs and distributed datasets. The latter's rules for the roles of a
// cluster are tested in tests/cluster/rules_test.cpp.
#include "tests/conformance/coordinator/fixture.hpp"

namespace muster::test {
namespace {

struct coordinator_conformance : conformance, testing::WithParamInterface<bool> {
  coordinator_conformance() : conformance(5, GetParam() ? of_two() : coordinator_options()) {}
};

INSTANTIATE_TEST_SUITE_P(queue, coordinator_conformance, testing::Bool(),
                         [](auto const& i) { return i.param ? "LimitedQueue" : "Default"; });

TEST_P(coordinator_conformance, testFnReturnNestedValues) {
  using nested = std::tuple<int, std::vector<double>, std::map<std::string, int>>;
  auto const v = c->schedule<nested>("nested");
  nested const expected{1, {2.5, 3}, {{"k", 4}}};
  EXPECT_EQ(v.fetch(), expected);
  EXPECT_EQ(c->fetch(std::vector{v}), std::vector{expected});
}

TEST_P(coordinator_conformance, testFetchingRemoteValueStructure) {
  std::vector<remote_value<int>> all;
  for (int i = 0; i < 10; ++i) all.push_back(c->schedule<int>("step", i));
  EXPECT_EQ(c->fetch(all), (std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_P(coordinator_conformance, testAsyncScheduleAndJoin) {
  EXPECT_TRUE(c->join()) << "of nothing";
  for (int round = 1; round <= 2; ++round) {
    for (int i = 0; i < 5; ++i) c->schedule<int>("step", 1);
    EXPECT_TRUE(c->join());
    EXPECT_EQ(steps, 5 * round);
  }
  EXPECT_TRUE(c->join());
  EXPECT_TRUE(c->done());
}

TEST_P(coordinator_conformance, remote_value_is_an_input) {
  auto const v = c->schedule<int>("step", 3);
  EXPECT_EQ(c->schedule<int>("step", v).fetch(), 3);
}

TEST_P(coordinator_conformance, testClusterCoordinatorDestroyed) {
  auto const v = c->schedule<int>("step", 1);
  EXPECT_TRUE(c->join());
  workers.clear();
  c.reset();
  EXPECT_EQ(v.fetch(), 1);
  EXPECT_TRUE(server.eventually([](auto& core) { return core.overview({}).sessions == 0; }));
}

}  // namespace
}  // namespace muster::test
