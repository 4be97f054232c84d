#include "tests/conformance/fixture.hpp"

namespace muster::test {
namespace {

TEST_P(conformance, TestStandaloneService) {
  serve(loose(1));
  connect(1);
  auto& a = (*this)[0];
  EXPECT_EQ(a.heartbeat().get().incarnation, a.service_incarnation());
  auto const unknown = agent(7).register_task().get();
  EXPECT_CODE(unknown, INVALID_ARGUMENT);
  EXPECT_TRUE(unknown.coordination);
  agents.back()->believe_in(a.service_incarnation());
  EXPECT_CODE(agents.back()->heartbeat().get(), INVALID_ARGUMENT);
  auto& wrong = agent(0);
  wrong.believe_in(a.service_incarnation());
  auto const refused = wrong.heartbeat().get();
  EXPECT_CODE(refused, ABORTED);
  EXPECT_TRUE(refused.coordination);
}

TEST_P(conformance, RegisterTask_AlreadyConnected_Succeeds) {
  serve(loose(1));
  connect(1);
  EXPECT_CODE((*this)[0].register_task().get(), OK);
}

TEST_P(conformance, RegisterTask_AlreadyConnectedDifferentIncarnation_Fails) {
  serve(loose(2));
  connect(2);
  auto const a = agent(1).register_task().get();
  EXPECT_CODE(a, ABORTED);
  EXPECT_EQ(a.source, 1);
}

TEST_P(conformance, RegisterTask_AlreadyInError_Fails) {
  auto spec = loose(1);
  spec.renew = false;
  serve(std::move(spec));
  connect(1);
  EXPECT_CODE((*this)[0].report_error(13, "mine").get(), OK);
  EXPECT_CODE((*this)[0].register_task().get(), ABORTED);
}

TEST_P(conformance, TestTaskHeartbeatTimeout) {
  serve(watched(2));
  connect(2);
  (*this)[1].beat_every(fast_beat);
  auto poll = polling(1);
  EXPECT_CODE(poll.get(), UNAVAILABLE);
  EXPECT_CODE((*this)[0].heartbeat().get(), ABORTED);
}

TEST_P(conformance, HeartbeatTimeoutWithoutServerToClientConnection) {
  serve(watched(2));
  connect(2);
  (*this)[1].beat_every(fast_beat);
  // The healthy task learns of the error from its heartbeat.
  auto const failed = [](test_server::inside& s) {
    return s.run().state() == coordination::generation_state::failed;
  };
  ASSERT_TRUE(server->eventually(failed));
  EXPECT_CODE((*this)[0].heartbeat().get(), ABORTED);
  EXPECT_CODE((*this)[1].heartbeat().get(), ABORTED);
}

TEST_P(conformance, TestTaskRestart) {
  serve(loose(2));
  connect(2);
  auto poll = polling(1);
  EXPECT_CODE(agent(0).register_task().get(), ABORTED);
  EXPECT_CODE(poll.get(), ABORTED);
}

TEST_P(conformance_of_xla, ServiceIncarnationMismatch) {
  serve(loose(1));
  connect(1);
  auto& a = (*this)[0];
  auto const real = a.service_incarnation();
  a.believe_in(real + 1);
  for (auto const& got :
       {a.heartbeat().get(), a.shutdown().get(), a.watch(-1).get(), a.insert("k", "v").get(),
        a.get("k").get(), a.try_get("k").get(), a.increment("n", 1).get(), a.dir("d").get(),
        a.erase("k").get(), a.barrier("b", long_time, {}, 0).get(), a.cancel_barrier("b").get(),
        a.alive({0}).get(), a.poll_for_error().get(), a.report_error(2, "e").get()}) {
    EXPECT_CODE(got, INTERNAL);
    EXPECT_SAYS(got, "wrong service incarnation");
    EXPECT_TRUE(got.coordination);
    EXPECT_EQ(got.mismatch, real);
  }
  EXPECT_CODE(a.register_task().get(), OK) << "the registration delivers it";
}

TEST_P(conformance, RegisterWithBarrier_RestartBeforeBarrier_Succeeds) {
  serve(strict(2));
  auto old = agent(0).register_task();
  ASSERT_TRUE(server->parked(1));
  auto fresh = agent(0).register_task();
  auto const superseded = old.get();
  EXPECT_CODE(superseded, ALREADY_EXISTS);
  EXPECT_TRUE(superseded.coordination);
  EXPECT_CODE(agent(1).register_task().get(), OK);
  EXPECT_CODE(fresh.get(), OK);
}

TEST_P(conformance, RegisterWithBarrier_OldHeartbeat_RestartedTasksCanReconnect) {
  serve(strict(2));
  auto& old = agent(0);
  auto first = old.register_task();
  ASSERT_TRUE(server->parked(1));
  auto fresh = agent(0).register_task();
  EXPECT_CODE(first.get(), ALREADY_EXISTS);
  if (!is_x()) {
    EXPECT_CODE(old.heartbeat().get(), INVALID_ARGUMENT);
  }
  EXPECT_CODE(agent(1).register_task().get(), OK);
  EXPECT_CODE(fresh.get(), OK) << "the old heartbeat was harmless";
}

TEST_P(conformance, RegisterWithBarrier_RestartAfterBarrier_Fails) {
  serve(strict(2));
  connect(2);
  EXPECT_CODE(agent(0).register_task().get(), ABORTED);
}

TEST_P(conformance, RegisterWithBarrier_Timeout) {
  auto spec = strict(2);
  spec.register_timeout = 200ms;
  serve(std::move(spec));
  auto const a = agent(0).register_task().get();
  EXPECT_CODE(a, DEADLINE_EXCEEDED);
  EXPECT_SAYS(a, "task:1");
}

}  // namespace
}  // namespace muster::test
