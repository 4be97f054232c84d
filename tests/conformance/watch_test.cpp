#include "tests/conformance/fixture.hpp"

namespace muster::test {
namespace {

constexpr int disconnected = 2, connected_state = 3, error_state = 4;

TEST_P(conformance, WatchTasksSucceeds) {
  serve(loose(2));
  connect(2);
  auto const a = (*this)[0].watch(-1).get();
  ASSERT_EQ(a.tasks.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(a.tasks[i].id, static_cast<int>(i));
    EXPECT_EQ(a.tasks[i].state, connected_state);
    EXPECT_EQ(a.tasks[i].incarnation, (*this)[i].incarnation());
    EXPECT_EQ(a.tasks[i].job, is_x() ? "" : "worker");
  }
}

TEST_P(conformance, WatchTasksReturnsDisconnected) {
  serve(loose(2));
  connect(2);
  EXPECT_CODE((*this)[1].shutdown().get(), OK);
  EXPECT_EQ((*this)[0].watch(-1).get().tasks.at(1).state, disconnected);
}

TEST_P(conformance, WatchTasksReturnsNewIncarnation) {
  auto spec = loose(2);
  spec.recoverable = true;
  serve(std::move(spec));
  connect(2);
  auto const before = (*this)[0].watch(-1).get();
  (*this)[1].restart();
  EXPECT_CODE((*this)[1].connect(), OK);
  auto const after = (*this)[0].watch(before.version).get();
  EXPECT_EQ(after.tasks.at(1).incarnation, (*this)[1].incarnation());
  EXPECT_NE(after.tasks.at(1).incarnation, before.tasks.at(1).incarnation);
}

TEST_P(conformance, WatchTasksBlocksUntilChange) {
  serve(loose(2));
  connect(2);
  auto const before = (*this)[0].watch(-1).get();
  auto watch = (*this)[0].watch(before.version);
  EXPECT_TRUE(watch.parked_for(a_while));
  EXPECT_CODE((*this)[1].report_error(13, "broken").get(), OK);
  auto const a = watch.get();
  EXPECT_GT(a.version, before.version);
  EXPECT_EQ(a.tasks.at(1).state, error_state);
  EXPECT_EQ(a.tasks.at(1).error_code, 13);
  EXPECT_NE(a.tasks.at(1).error_message.find("broken"), std::string::npos);
}

TEST_P(conformance, WatchTasksAfterTwoStateChanges) {
  serve(loose(3));
  connect(3);
  auto const before = (*this)[0].watch(-1).get();
  EXPECT_CODE((*this)[1].shutdown().get(), OK);
  EXPECT_CODE((*this)[2].shutdown().get(), OK);
  auto const a = (*this)[0].watch(before.version).get();
  EXPECT_GE(a.version, before.version + 2);
  EXPECT_EQ(a.tasks.at(1).state, disconnected);
  EXPECT_EQ(a.tasks.at(2).state, disconnected);
}

TEST_P(conformance, WatchOfAFutureVersionIsRefused) {
  // The original process exits here.
  serve(loose(1));
  connect(1);
  EXPECT_CODE((*this)[0].watch(1'000).get(), INVALID_ARGUMENT);
}

TEST_P(conformance, WatchersAreNotifiedWhenTheServiceStops) {
  serve(loose(1));
  connect(1);
  auto watch = (*this)[0].watch((*this)[0].watch(-1).get().version);
  ASSERT_TRUE(server->parked(1));
  server->stop();
  auto const a = watch.get();
  EXPECT_CODE(a, OK);
  EXPECT_EQ(a.version, -1);
  EXPECT_TRUE(a.tasks.empty());
}

std::vector<std::pair<int, std::uint64_t>> sorted(answer a) {
  std::sort(a.alive.begin(), a.alive.end());
  return a.alive;
}

TEST_P(conformance, SuccessfulGetAliveTasks) {
  serve(loose(2));
  connect(2);
  auto first = (*this)[0].alive({0, 1});
  EXPECT_TRUE(first.parked_for(a_while));
  auto second = (*this)[1].alive({0, 1});
  std::vector<std::pair<int, std::uint64_t>> const both = {{0, (*this)[0].incarnation()},
                                                           {1, (*this)[1].incarnation()}};
  EXPECT_EQ(sorted(first.get()), both);
  EXPECT_EQ(sorted(second.get()), both);
}

TEST_P(conformance, FailedTaskBeforeCallingGetAliveTasks) {
  serve(loose(3));
  connect(3);
  auto polled = polling(0);
  EXPECT_CODE((*this)[2].report_error(13, "broken").get(), OK);
  auto first = (*this)[0].alive({0, 1, 2});
  auto second = (*this)[1].alive({0, 1, 2});
  EXPECT_EQ(first.get().alive.size(), 2u);
  EXPECT_EQ(second.get().alive.size(), 2u);
}

TEST_P(conformance, FailedTaskAfterCallingGetAliveTasks) {
  serve(loose(3));
  connect(3);
  auto polled = polling(0);
  auto failed = (*this)[2].alive({0, 1, 2});
  ASSERT_TRUE(server->parked(2));
  EXPECT_CODE((*this)[2].report_error(13, "broken").get(), OK);
  auto first = (*this)[0].alive({0, 1, 2});
  auto second = (*this)[1].alive({0, 1, 2});
  EXPECT_EQ(first.get().alive.size(), 2u);
  EXPECT_EQ(second.get().alive.size(), 2u);
  EXPECT_EQ(failed.get().alive.size(), 2u) << "the same answer for all";
}

TEST_P(conformance, ConcurrentGetAliveTasks) {
  serve(loose(3));
  connect(3);
  auto pair_first = (*this)[0].alive({0, 1});
  auto all_first = (*this)[0].alive({0, 1, 2});
  auto all_second = (*this)[1].alive({0, 1, 2});
  auto pair_second = (*this)[1].alive({1, 0});
  EXPECT_EQ(pair_first.get().alive.size(), 2u);
  EXPECT_EQ(pair_second.get().alive.size(), 2u);
  EXPECT_TRUE(all_first.parked_for(a_while));
  EXPECT_EQ((*this)[2].alive({0, 1, 2}).get().alive.size(), 3u);
  EXPECT_EQ(all_first.get().alive.size(), 3u);
  EXPECT_EQ(all_second.get().alive.size(), 3u);
}

TEST_P(conformance, CallingGetAliveTasksWithoutBeingAMember) {
  serve(loose(3));
  connect(3);
  auto const a = (*this)[0].alive({1, 2}).get();
  EXPECT_CODE(a, INVALID_ARGUMENT);
  EXPECT_FALSE(a.coordination);
}

TEST_P(conformance, RedundantGetAliveTasks) {
  serve(loose(2));
  connect(2);
  auto first = (*this)[0].alive({0, 1});
  auto again = (*this)[0].alive({0, 1});
  ASSERT_TRUE(server->parked(2));
  EXPECT_EQ((*this)[1].alive({0, 1}).get().alive.size(), 2u);
  EXPECT_EQ(first.get().alive.size(), 2u);
  EXPECT_EQ(again.get().alive.size(), 2u);
}

}  // namespace
}  // namespace muster::test
