#include "tests/conformance/fixture.hpp"

namespace muster::test {
namespace {

TEST_P(conformance_of_tensorflow, ResetAndRegisterAgain) {
  serve(loose(2));
  connect(2);
  EXPECT_CODE((*this)[0].report_error(13, "mine").get(), OK);
  EXPECT_CODE((*this)[0].reset().get(), OK);
  EXPECT_CODE((*this)[0].register_task().get(), OK);
  EXPECT_CODE((*this)[0].heartbeat().get(), OK);
}

TEST_P(conformance_of_tensorflow, Reset_HeartbeatsAreAcceptedForAGracePeriod) {
  serve(watched(2));
  connect(2);
  (*this)[1].beat_every(fast_beat);
  EXPECT_CODE((*this)[0].reset().get(), OK);
  EXPECT_CODE((*this)[0].heartbeat().get(), OK);
  std::this_thread::sleep_for(fast_timeout + 100ms);
  EXPECT_CODE((*this)[0].heartbeat().get(), INVALID_ARGUMENT);
}

TEST_P(conformance_of_tensorflow, Reset_FailsOngoingBarrier) {
  serve(loose(2));
  connect(2);
  auto barrier = (*this)[0].barrier("b", long_time, {}, 0);
  ASSERT_TRUE(server->parked(1));
  EXPECT_CODE((*this)[1].reset().get(), OK);
  EXPECT_CODE(barrier.get(), INTERNAL);
}

TEST_P(conformance, Shutdown_HeartbeatsAreAcceptedForAGracePeriod) {
  serve(watched(2));
  connect(2);
  (*this)[1].beat_every(fast_beat);
  EXPECT_CODE((*this)[0].shutdown().get(), OK);
  EXPECT_CODE((*this)[0].heartbeat().get(), OK);
  std::this_thread::sleep_for(fast_timeout + 100ms);
  EXPECT_CODE((*this)[0].heartbeat().get(), INVALID_ARGUMENT);
}

TEST_P(conformance, Shutdown_FailsOngoingBarrier) {
  serve(loose(2));
  connect(2);
  auto barrier = (*this)[0].barrier("b", long_time, {}, 0);
  ASSERT_TRUE(server->parked(1));
  EXPECT_CODE((*this)[1].shutdown().get(), OK);
  EXPECT_CODE(barrier.get(), INTERNAL);
}

TEST_P(conformance, Shutdown_Twice_FailsThePrecondition) {
  serve(loose(2));
  connect(2);
  EXPECT_CODE((*this)[0].shutdown().get(), OK);
  EXPECT_CODE((*this)[0].shutdown().get(), FAILED_PRECONDITION);
}

TEST_P(conformance, ShutdownWithBarrier_BarrierSucceeds) {
  serve(strict(2));
  connect(2);
  auto first = (*this)[0].shutdown();
  EXPECT_TRUE(first.parked_for(a_while));
  EXPECT_CODE((*this)[1].shutdown().get(), OK);
  EXPECT_CODE(first.get(), OK);
}

TEST_P(conformance, ShutdownWithBarrier_BarrierFails_TaskDisconnectsOtherTaskIsAlerted) {
  auto spec = strict(2);
  spec.shutdown_timeout = 200ms;
  serve(std::move(spec));
  connect(2);
  auto poll = polling(1);
  auto const a = (*this)[0].shutdown().get();
  EXPECT_CODE(a, INTERNAL);
  EXPECT_SAYS(a, "timed out");
  auto const alerted = poll.get();
  EXPECT_CODE(alerted, INTERNAL);
  EXPECT_SAYS(alerted, "timed out");
  EXPECT_CODE((*this)[1].heartbeat().get(), ABORTED);
}

TEST_P(conformance, ShutdownWithBarrier_BarrierFailsWithoutClientConnection_SetTaskToError) {
  auto spec = strict(2);
  spec.shutdown_timeout = 200ms;
  serve(std::move(spec));
  connect(2);
  EXPECT_CODE((*this)[0].shutdown().get(), INTERNAL);
  EXPECT_CODE((*this)[1].heartbeat().get(), ABORTED);
}

}  // namespace
}  // namespace muster::test
