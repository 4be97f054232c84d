#include "tests/conformance/fixture.hpp"

namespace muster::test {
namespace {

TEST_P(conformance, Barrier) {
  serve(loose(3));
  connect(3);
  auto a = (*this)[0].barrier("b", long_time, {}, 0);
  auto b = (*this)[1].barrier("b", long_time, {}, 0);
  ASSERT_TRUE(server->parked(2));
  EXPECT_TRUE(a.parked_for(a_while));
  auto c = (*this)[2].barrier("b", long_time, {}, 0);
  for (auto* call : {&a, &b, &c}) {
    EXPECT_CODE(call->get(), OK);
    EXPECT_EQ(call->get().counter, 0);
  }
}

TEST_P(conformance, BarrierWithSubsetOfTasks) {
  serve(loose(3));
  connect(3);
  auto a = (*this)[0].barrier("b", long_time, {0, 1}, 0);
  EXPECT_CODE((*this)[1].barrier("b", long_time, {1, 0}, 0).get(), OK);
  EXPECT_CODE(a.get(), OK);
}

TEST_P(conformance, BarrierWithMismatchedTasks) {
  serve(loose(2));
  connect(2);
  auto a = (*this)[0].barrier("b", long_time, {0, 1}, 0);
  ASSERT_TRUE(server->parked(1));
  auto const b = (*this)[1].barrier("b", long_time, {1}, 0).get();
  EXPECT_CODE(b, INVALID_ARGUMENT);
  EXPECT_EQ(b.barrier_counter, 0);
  EXPECT_CODE(a.get(), INVALID_ARGUMENT);
}

TEST_P(conformance, BarrierByNonParticipatingTask) {
  serve(loose(2));
  connect(2);
  auto a = (*this)[0].barrier("b", long_time, {0}, 0);
  EXPECT_CODE(a.get(), OK);
  auto b = (*this)[0].barrier("c", long_time, {1}, 0);
  EXPECT_CODE(b.get(), INVALID_ARGUMENT);
}

TEST_P(conformance, BarrierByNonParticipatingTaskThreeTasks) {
  serve(loose(3));
  connect(3);
  auto a = (*this)[0].barrier("b", long_time, {0, 1}, 0);
  ASSERT_TRUE(server->parked(1));
  EXPECT_CODE((*this)[2].barrier("b", long_time, {0, 1}, 0).get(), INVALID_ARGUMENT);
  EXPECT_CODE(a.get(), INVALID_ARGUMENT);
  EXPECT_CODE((*this)[1].barrier("b", long_time, {0, 1}, 0).get(), INVALID_ARGUMENT);
}

TEST_P(conformance, BarrierByNonClusterTask) {
  serve(loose(1));
  connect(1);
  auto const a = (*this)[0].barrier("b", long_time, {0, 9}, 0).get();
  EXPECT_CODE(a, INVALID_ARGUMENT);
  EXPECT_TRUE(a.coordination);
}

TEST_P(conformance, BarrierTimeout) {
  serve(loose(2));
  connect(2);
  auto const a = (*this)[0].barrier("b", 200ms, {}, 0).get();
  EXPECT_CODE(a, DEADLINE_EXCEEDED);
  EXPECT_SAYS(a, "/job:worker/task:1");
  EXPECT_EQ(a.barrier_counter, 0);
  EXPECT_EQ(a.barrier_id, "b");
}

TEST_P(conformance, BarrierReturnsPreviousError) {
  serve(loose(2));
  connect(2);
  auto a = (*this)[0].barrier("b", long_time, {}, 0);
  ASSERT_TRUE(server->parked(1));
  auto poll = polling(0);
  EXPECT_CODE((*this)[1].report_error(13, "broken").get(), OK);
  EXPECT_CODE(a.get(), INTERNAL);
  EXPECT_CODE((*this)[0].barrier("b", long_time, {}, 0).get(), INTERNAL);
}

TEST_P(conformance, TwoConsecutiveBarriers_Succeed) {
  serve(loose(2));
  connect(2);
  for (std::int64_t n = 0; n < 2; ++n) {
    auto a = (*this)[0].barrier("b", long_time, {}, n);
    EXPECT_EQ((*this)[1].barrier("b", long_time, {}, n).get().counter, n);
    EXPECT_EQ(a.get().counter, n);
  }
}

TEST_P(conformance, Barrier_OngoingButMismatchedCounter_InternalError) {
  serve(loose(2));
  connect(2);
  auto a = (*this)[0].barrier("b", long_time, {}, 0);
  ASSERT_TRUE(server->parked(1));
  EXPECT_CODE((*this)[1].barrier("b", long_time, {}, 1).get(), INTERNAL);
  EXPECT_CODE(a.get(), INTERNAL);
}

TEST_P(conformance, SecondBarrier_UseWrongCounter_InternalError) {
  serve(loose(1));
  connect(1);
  EXPECT_CODE((*this)[0].barrier("b", long_time, {}, 0).get(), OK);
  auto const a = (*this)[0].barrier("b", long_time, {}, 2).get();
  EXPECT_CODE(a, INTERNAL);
  EXPECT_TRUE(a.barrier_counter.has_value());
}

TEST_P(conformance, BarrierCancelled) {
  serve(loose(2));
  connect(2);
  auto a = (*this)[0].barrier("b", long_time, {}, 0);
  ASSERT_TRUE(server->parked(1));
  EXPECT_CODE((*this)[1].cancel_barrier("b").get(), OK);
  auto const got = a.get();
  EXPECT_CODE(got, CANCELLED);
  EXPECT_EQ(got.barrier_counter, 0);
}

TEST_P(conformance, CancelAfterBarrierHasPassed) {
  serve(loose(1));
  connect(1);
  EXPECT_CODE((*this)[0].barrier("b", long_time, {}, 0).get(), OK);
  EXPECT_CODE((*this)[0].cancel_barrier("b").get(), FAILED_PRECONDITION);
}

TEST_P(conformance, CancelBarrier_WrongCounter_FailedPrecondition) {
  serve(loose(2));
  connect(2);
  auto a = (*this)[0].barrier("b", long_time, {}, 0);
  ASSERT_TRUE(server->parked(1));
  EXPECT_CODE((*this)[1].cancel_barrier("b", 5).get(), FAILED_PRECONDITION);
  EXPECT_TRUE(a.parked_for(a_while));
}

TEST_P(conformance, PassedBarrierReturnsImmediately) {
  serve(loose(2));
  connect(2);
  auto a = (*this)[0].barrier("b", long_time, {}, 0);
  EXPECT_CODE((*this)[1].barrier("b", long_time, {}, 0).get(), OK);
  EXPECT_CODE(a.get(), OK);
  EXPECT_CODE((*this)[0].barrier("b", long_time, {}, 0).get(), OK);
}

TEST_P(conformance, BarrierFailsIfTaskIsAlreadyInError) {
  serve(loose(2));
  connect(2);
  EXPECT_CODE((*this)[1].report_error(13, "broken").get(), OK);
  EXPECT_CODE((*this)[0].barrier("b", long_time, {}, 0).get(), INTERNAL);
}

TEST_P(conformance, BarrierFailsUponTaskError) {
  serve(loose(2));
  connect(2);
  auto a = (*this)[0].barrier("b", long_time, {}, 0);
  ASSERT_TRUE(server->parked(1));
  EXPECT_CODE((*this)[1].report_error(13, "broken").get(), OK);
  auto const got = a.get();
  EXPECT_CODE(got, INTERNAL);
  EXPECT_EQ(got.barrier_counter, 0);
}

TEST_P(conformance, BarrierStillBlocksIfSameTaskCallsOngoingBarrierRepeatedly) {
  serve(loose(2));
  connect(2);
  auto first = (*this)[0].barrier("b", long_time, {}, 0);
  ASSERT_TRUE(server->parked(1));
  auto second = (*this)[0].barrier("b", long_time, {}, 0);
  auto const older = first.get();
  EXPECT_CODE(older, CANCELLED);
  EXPECT_FALSE(older.coordination);
  EXPECT_TRUE(second.parked_for(a_while));
  EXPECT_CODE((*this)[1].barrier("b", long_time, {}, 0).get(), OK);
  EXPECT_CODE(second.get(), OK);
}

TEST_P(conformance, BarrierFailsIfTaskIsInError) {
  serve(watched(2));
  connect(2);
  (*this)[0].beat_every(fast_beat);
  auto poll = polling(0);
  EXPECT_CODE((*this)[0].barrier("b", long_time, {}, 0).get(), INTERNAL);
  EXPECT_CODE(poll.get(), UNAVAILABLE);
  EXPECT_CODE((*this)[0].barrier("after", long_time, {}, 0).get(), INTERNAL);
}

TEST_P(conformance, BarrierWithSubsetFailsIfTaskIsStale) {
  serve(watched(3));
  connect(3);
  (*this)[0].beat_every(fast_beat);
  (*this)[2].beat_every(fast_beat);
  auto poll = polling(0);
  EXPECT_CODE((*this)[0].barrier("b", long_time, {0, 1}, 0).get(), INTERNAL);
  EXPECT_CODE(poll.get(), UNAVAILABLE);
}

TEST_P(conformance, BarrierWithParticipatingTasksFailsIfTaskIsStale) {
  serve(watched(2));
  connect(2);
  (*this)[0].beat_every(fast_beat);
  auto poll = polling(0);
  EXPECT_CODE(poll.get(), UNAVAILABLE);
  EXPECT_CODE((*this)[0].barrier("b", long_time, {0, 1}, 0).get(), INTERNAL);
}

TEST_P(conformance, BarrierFailsAfterErrorPollingResponse) {
  serve(loose(2));
  connect(2);
  auto poll = polling(0);
  EXPECT_CODE((*this)[1].report_error(13, "broken").get(), OK);
  EXPECT_CODE(poll.get(), INTERNAL);
  EXPECT_CODE((*this)[0].barrier("b", long_time, {}, 0).get(), INTERNAL);
}

TEST_P(conformance, CancelNonExistentBarrier_CreatesItCancelled) {
  serve(loose(1));
  connect(1);
  EXPECT_CODE((*this)[0].cancel_barrier("none").get(), OK);
  EXPECT_CODE((*this)[0].barrier("none", long_time, {}, 0).get(), CANCELLED);
}

}  // namespace
}  // namespace muster::test
