// ErrorReportingTest, with the default queue and with a queue of two closures.
#include "tests/conformance/coordinator/fixture.hpp"

namespace muster::test {
namespace {

struct coordinator_conformance_errors : conformance, testing::WithParamInterface<bool> {
  coordinator_conformance_errors()
      : conformance(3, GetParam() ? of_two() : coordinator_options()) {}
};

INSTANTIATE_TEST_SUITE_P(queue, coordinator_conformance_errors, testing::Bool(),
                         [](auto const& i) { return i.param ? "LimitedQueue" : "Default"; });

TEST_P(coordinator_conformance_errors, testJoinRaiseError) {
  auto const raised = raised_by([&] {
    for (int i = 0; i < 3; ++i) c->schedule<int>("step", 1);
    c->schedule<int>("fail", "numeric trouble");
    c->join();
  });
  EXPECT_EQ(raised, "numeric trouble");
}

TEST_P(coordinator_conformance_errors, testScheduleRaiseError) {
  c->schedule<int>("fail", "numeric trouble");
  EXPECT_EQ(raised_by([&] {
              for (;;) c->schedule<int>("step", 1);
            }),
            "numeric trouble");
}

TEST_P(coordinator_conformance_errors, testScheduleRaiseErrorWithMultipleFailure) {
  EXPECT_EQ(raised_by([&] {
              for (;;) c->schedule<int>("fail", "again");
            }),
            "again");
  EXPECT_EQ(raised_by([&] { c->join(); }), "") << "the call scheduled after it was not";
}

TEST_P(coordinator_conformance_errors, testErrorWillbeCleared) {
  for (auto const* message : {"one", "two"}) {
    EXPECT_EQ(raised_by([&] {
                c->schedule<int>("fail", message);
                c->join();
              }),
              message);
  }
  EXPECT_TRUE(c->join());
}

TEST_P(coordinator_conformance_errors, testRemoteValueReturnError) {
  auto const v = c->schedule<int>("fail", "mine");
  EXPECT_EQ(raised_by([&] { v.fetch(); }), "mine");
  EXPECT_EQ(raised_by([&] { c->join(); }), "mine");
}

TEST_P(coordinator_conformance_errors, testCancellation) {
  auto const slow = c->schedule<int>("hold");
  held.wait_for(1);
  EXPECT_EQ(raised_by([&] {
              c->schedule<int>("fail", "first");
              c->join();
            }),
            "first");
  EXPECT_THROW(slow.fetch(), cancelled_error);
  EXPECT_EQ(c->schedule<int>("step", 1).fetch(), 1) << "usable";
}

}  // namespace
}  // namespace muster::test
