// Not ported: DoNotAllowPollForErrorIfHasServiceToClientConnection (TensorFlow), because this
// service never connects to its clients.
#include "tests/conformance/fixture.hpp"

namespace muster::test {
namespace {

TEST_P(conformance, ErrorPollingRequestsGotCancelledErrorUponServiceShutdown) {
  serve(loose(2));
  connect(2);
  auto first = polling(0);
  auto second = polling(1);
  server->stop();
  EXPECT_CODE(first.get(), CANCELLED);
  auto const a = second.get();
  EXPECT_CODE(a, CANCELLED);
  EXPECT_FALSE(a.coordination);
}

TEST_P(conformance, HeartbeatTimeoutErrorCanPropagateThroughErrorPolling) {
  serve(watched(2));
  connect(2);
  auto first = polling(0);
  auto second = polling(1);
  EXPECT_CODE(first.get(), UNAVAILABLE);
  auto const a = second.get();
  EXPECT_CODE(a, UNAVAILABLE);
  EXPECT_TRUE(a.coordination);
}

TEST_P(conformance, HeartbeatTimeoutErrorFromOneTaskCanPropagateThroughErrorPolling) {
  serve(watched(2));
  connect(2);
  (*this)[0].beat_every(fast_beat);
  auto const a = (*this)[0].poll_for_error().get();
  EXPECT_CODE(a, UNAVAILABLE);
  EXPECT_SAYS(a, "/job:worker/task:1");
  EXPECT_EQ(a.message.find("/job:worker/task:0"), std::string::npos) << a.message;
}

TEST_P(conformance, ReportedErrorCanPropagateThroughErrorPolling) {
  serve(loose(3));
  connect(3);
  auto first = polling(0);
  auto second = polling(1);
  EXPECT_CODE((*this)[2].report_error(15, "disk is gone").get(), OK);
  for (auto* poll : {&first, &second}) {
    auto const a = poll->get();
    EXPECT_EQ(static_cast<int>(a.code), 15) << a.message;
    EXPECT_SAYS(a, "disk is gone");
    EXPECT_EQ(a.source, 2);
    EXPECT_TRUE(a.reported);
  }
}

TEST_P(conformance, CanPropagateTaskRegistrationErrorThroughErrorPolling) {
  serve(loose(2));
  connect(2);
  auto poll = polling(1);
  EXPECT_CODE(agent(0).register_task().get(), ABORTED);
  EXPECT_CODE(poll.get(), ABORTED);
}

TEST_P(conformance, LatePollingTaskCanGetError) {
  serve(loose(3));
  connect(3);
  auto poll = polling(0);
  EXPECT_CODE((*this)[2].report_error(13, "broken").get(), OK);
  EXPECT_CODE(poll.get(), INTERNAL);
  auto const late = (*this)[1].poll_for_error().get();
  EXPECT_CODE(late, INTERNAL);
  EXPECT_SAYS(late, "broken");
}

TEST_P(conformance, SecondPollReplacesTheFirst) {
  serve(loose(1));
  connect(1);
  auto first = polling(0);
  auto second = (*this)[0].poll_for_error();
  EXPECT_CODE(first.get(), CANCELLED);
  EXPECT_TRUE(second.parked_for(a_while));
}

TEST_P(conformance, DoNotAllowPollForErrorIfNotInCluster) {
  serve(loose(1));
  connect(1);
  auto& stranger = agent(5);
  stranger.believe_in((*this)[0].service_incarnation());
  EXPECT_CODE(stranger.poll_for_error().get(), INVALID_ARGUMENT);
}

TEST_P(conformance, DoNotAllowPollForErrorIfTaskNotRegistered) {
  serve(loose(2));
  connect(1);
  auto& late = agent(1);
  late.believe_in((*this)[0].service_incarnation());
  EXPECT_CODE(late.poll_for_error().get(), FAILED_PRECONDITION);
}

TEST_P(conformance, AllowPollForErrorWithinGracePeriodIfTaskHasShutDown) {
  serve(loose(2));
  connect(2);
  auto poll = polling(0);
  EXPECT_CODE((*this)[0].shutdown().get(), OK);
  EXPECT_CODE(poll.get(), CANCELLED);
  auto again = polling(0);
  EXPECT_TRUE(again.parked_for(a_while));
  server->stop();
  EXPECT_CODE(again.get(), CANCELLED);
}

TEST_P(conformance, DoNotAllowPollForErrorIfTaskHasShutDown) {
  serve(watched(2));
  connect(2);
  (*this)[1].beat_every(fast_beat);
  EXPECT_CODE((*this)[0].shutdown().get(), OK);
  // The grace period equals the heartbeat timeout, so real time must pass.
  std::this_thread::sleep_for(fast_timeout + 100ms);
  EXPECT_CODE((*this)[0].poll_for_error().get(), FAILED_PRECONDITION);
}

TEST_P(conformance_of_tensorflow, DoNotAllowPollForErrorAfterReset) {
  serve(watched(2));
  connect(2);
  (*this)[1].beat_every(fast_beat);
  EXPECT_CODE((*this)[0].reset().get(), OK);
  std::this_thread::sleep_for(fast_timeout + 100ms);
  EXPECT_CODE((*this)[0].poll_for_error().get(), FAILED_PRECONDITION);
}

TEST_P(conformance, DoNotAllowPollForErrorWhenInErrorState) {
  serve(loose(2));
  connect(2);
  EXPECT_CODE((*this)[0].report_error(13, "mine").get(), OK);
  auto const a = (*this)[0].poll_for_error().get();
  EXPECT_CODE(a, FAILED_PRECONDITION);
  EXPECT_SAYS(a, "mine");
}

TEST_P(conformance, DoNotAllowPollForErrorIfTaskIsStale) {
  serve(watched(2));
  connect(2);
  (*this)[1].beat_every(fast_beat);
  EXPECT_CODE((*this)[1].poll_for_error().get(), UNAVAILABLE);
  EXPECT_CODE((*this)[0].poll_for_error().get(), FAILED_PRECONDITION);
}

}  // namespace
}  // namespace muster::test
