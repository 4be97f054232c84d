#include "tests/conformance/fixture.hpp"

namespace muster::test {
namespace {

coordination::cluster_spec recoverable(coordination::cluster_spec spec) {
  spec.recoverable = true;
  return spec;
}

TEST_P(conformance, RecoverableTaskWillNotPropagateError) {
  serve(recoverable(loose(2)));
  connect(2);
  EXPECT_CODE((*this)[0].report_error(13, "mine").get(), OK);
  EXPECT_CODE((*this)[1].heartbeat().get(), OK);
}

TEST_P(conformance, RecoverableTaskWithErrorPollingWillNotPropagateError) {
  serve(recoverable(loose(2)));
  connect(2);
  auto poll = polling(1);
  EXPECT_CODE((*this)[0].report_error(13, "mine").get(), OK);
  EXPECT_TRUE(poll.parked_for(a_while));
}

TEST_P(conformance_of_tensorflow, RecoverableTaskReportErrorResetAndRegisterAgain) {
  serve(recoverable(loose(2)));
  connect(2);
  EXPECT_CODE((*this)[0].report_error(13, "mine").get(), OK);
  EXPECT_CODE((*this)[0].reset().get(), OK);
  EXPECT_CODE(agent(0).register_task().get(), OK);
  EXPECT_CODE((*this)[1].heartbeat().get(), OK);
}

TEST_P(conformance, RecoverableClientDies_NoErrorPropagated) {
  auto spec = recoverable(watched(2));
  serve(std::move(spec));
  connect(2);
  (*this)[0].beat_every(fast_beat);
  auto poll = polling(0);
  EXPECT_TRUE(poll.parked_for(fast_timeout + 200ms));
  (*this)[1].restart();
  EXPECT_CODE((*this)[1].connect(), OK);
}

TEST_P(conformance, RecoverableClient_RestartsAndStartsBarrier) {
  serve(recoverable(loose(2)));
  connect(2);
  auto first = (*this)[0].barrier("b", long_time, {}, 0);
  EXPECT_CODE((*this)[1].wait_at("b"), OK);
  EXPECT_CODE(first.get(), OK);
  (*this)[1].restart();
  EXPECT_CODE((*this)[1].connect(), OK);
  // Counts from 0 again and starts the next instance.
  auto fresh = (*this)[1].barrier("b", long_time, {}, 0);
  ASSERT_TRUE(server->parked(1));
  EXPECT_EQ((*this)[0].barrier("b", long_time, {}, 1).get().counter, 1);
  EXPECT_EQ(fresh.get().counter, 1);
}

TEST_P(conformance, RecoverableClient_RestartsAndJoinsBarrier) {
  serve(recoverable(loose(2)));
  connect(2);
  auto first = (*this)[0].barrier("b", long_time, {}, 0);
  ASSERT_TRUE(server->parked(1));
  (*this)[1].restart();
  EXPECT_CODE((*this)[1].connect(), OK);
  EXPECT_CODE((*this)[1].wait_at("b"), OK);
  EXPECT_CODE(first.get(), OK);
}

TEST_P(conformance, RecoverableClient_JoinsBarrierThenRestartsAndJoinsBarrierAgain) {
  serve(recoverable(loose(3)));
  connect(3);
  auto first = (*this)[0].barrier("b", long_time, {}, 0);
  auto stale = (*this)[1].barrier("b", long_time, {}, 0);
  ASSERT_TRUE(server->parked(2));
  auto& fresh = agent(1);
  EXPECT_CODE(fresh.connect(), OK);
  EXPECT_CODE(stale.get(), CANCELLED);
  auto again = fresh.barrier("b", long_time, {}, 0);
  EXPECT_TRUE(again.parked_for(a_while));
  EXPECT_CODE((*this)[2].barrier("b", long_time, {}, 0).get(), OK);
  EXPECT_CODE(again.get(), OK);
  EXPECT_CODE(first.get(), OK);
}

TEST_P(conformance, RecoverableClientNeverJoins_InitialConnectFails) {
  auto spec = recoverable(strict(2));
  spec.register_timeout = 200ms;
  serve(std::move(spec));
  EXPECT_CODE(agent(0).register_task().get(), DEADLINE_EXCEEDED);
}

TEST_P(conformance, HeartbeatsOfAnOldIncarnationAreAnsweredAndNotCounted) {
  serve(recoverable(watched(2)));
  connect(2);
  auto& old = (*this)[0];
  EXPECT_CODE(agent(0).connect(), OK);
  EXPECT_CODE(old.heartbeat().get(), OK);
  old.beat_every(fast_beat);
  auto const silent = [](test_server::inside& s) {
    return s.run().views().tasks({}, 0, 1).at(0).health == coordination::agent_health::error;
  };
  EXPECT_TRUE(server->eventually(silent));
}

}  // namespace
}  // namespace muster::test
