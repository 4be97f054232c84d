// Agents driven as client libraries drive them: the client_server_test suites of TensorFlow's
// coordination agent and of JAX. Tests of the agent itself are in
// tests/client/agent_conformance_test.cpp.
//
// One test here covers several original names:
//   ClientsShutdownSuccessfully                      ConnectAndShutdownAreBarriers
//   ClientsReceiveMissedHeartbeatIfAnyClientGoesAway_WithoutErrorPolling
//                                                    HeartbeatTimeoutWithoutServerToClientConnection
//   ConnectAndEnumerateDevices                       EnumerateElevenDevices
//   WaitAtBarrier_Succeed, WaitAtBarrier_Timeout     Barrier, BarrierTimeout
//   WaitAtBarrierSubset_Succeeds                     BarrierWithSubsetOfTasks
//   WaitAtBarrier_DifferentSubset_Fails              BarrierWithMismatchedTasks
//   WaitAtBarrierSubsetNonParticipatingProcessAttempts_Fails   BarrierByNonParticipatingTask
//   CancelNonExistentBarrier_Fails                   CancelNonExistentBarrier_CreatesItCancelled
//   GetAliveTasks_Succeed, GetLiveTasksSucceeds      SuccessfulGetAliveTasks
//   GetLiveTasksWithoutBeingAMember                  CallingGetAliveTasksWithoutBeingAMember
//   KeyValueDirGet, KeyValueSet_Duplicate_Fails and _Overwrites, KeyValueTryGet, KeyValueIncrement,
//   KeyValueDelete and _Directory, AsyncKeyValueGet  key_value_test.cpp
// Not ported: topology_util_test and preemption_sync_manager_test (programs built on keys and
// barriers), mtls_test (see tests/e2e/tls), BarrierProxy (threads of one process that share a
// barrier, a part of the original client library).
#include "tests/conformance/fixture.hpp"

namespace muster::test {
namespace {

TEST_P(conformance, ConnectAndShutdownAreBarriers) {
  serve(strict(3));
  std::vector<pending> calls;
  for (int i = 0; i < 2; ++i) calls.push_back(agent(i).register_task());
  EXPECT_TRUE(calls[0].parked_for(a_while));
  calls.push_back(agent(2).register_task());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_CODE(agents[i]->connected(calls[i].get()), OK);
  calls.clear();
  for (std::size_t i = 0; i < 2; ++i) calls.push_back(agents[i]->shutdown());
  EXPECT_TRUE(calls[0].parked_for(a_while));
  calls.push_back(agents[2]->shutdown());
  for (auto& c : calls) EXPECT_CODE(c.get(), OK);
}

TEST_P(conformance, ClientsTerminateShutdownIfAnyClientGoesAway) {
  auto spec = strict(2);
  spec.heartbeat_timeout = fast_timeout;
  serve(std::move(spec));
  connect(2);
  (*this)[0].beat_every(fast_beat);
  auto poll = polling(0);
  EXPECT_CODE((*this)[0].shutdown().get(), INTERNAL);
  EXPECT_FALSE(poll.get().ok());
}

TEST_P(conformance, ClientsTerminateShutdownIfAnyClientGoesAway_WithoutErrorPolling) {
  auto spec = strict(2);
  spec.heartbeat_timeout = fast_timeout;
  serve(std::move(spec));
  connect(2);
  (*this)[0].beat_every(fast_beat);
  EXPECT_CODE((*this)[0].shutdown().get(), INTERNAL);
}

TEST_P(conformance, MissedHeartbeatCallbackIsExecutedIfAnyClientGoesAway) {
  serve(watched(3));
  connect(3);
  std::vector<pending> polls;
  for (std::size_t i = 0; i < 2; ++i) {
    (*this)[i].beat_every(fast_beat);
    polls.push_back(polling(i));
  }
  for (auto& p : polls) EXPECT_CODE(p.get(), UNAVAILABLE);
}

TEST_P(conformance, NonrecoverableClientDies_ErrorPropagated) {
  serve(watched(2));
  connect(2);
  (*this)[0].beat_every(fast_beat);
  EXPECT_CODE((*this)[0].poll_for_error().get(), UNAVAILABLE);
}

TEST_P(conformance, ShutdownErrorIsPropagatedToClients) {
  auto spec = strict(2);
  spec.shutdown_timeout = 200ms;
  serve(std::move(spec));
  connect(2);
  auto poll = polling(1);
  EXPECT_CODE((*this)[0].shutdown().get(), INTERNAL);
  EXPECT_CODE(poll.get(), INTERNAL);
}

TEST_P(conformance, ClientsTerminateIfServiceGoesAway) {
  serve(loose(1));
  connect(1);
  server->stop();
  server.reset();
  EXPECT_CODE((*this)[0].heartbeat().get(), UNAVAILABLE);
}

TEST_P(conformance, LateClientsAreOk) {
  // The client connects before the server starts.
  serve(strict(1));
  auto const port = server->port();
  server.reset();
  agent_options o;
  o.dialect = GetParam();
  auto const address = "127.0.0.1:" + std::to_string(port);
  agents.push_back(std::make_unique<coordination_agent>(runner, connection_to(address), o));
  EXPECT_CODE((*this)[0].register_task(1s).get(), UNAVAILABLE);
  server.emplace(test_server_options{.clusters = {strict(1)}, .port = port});
  EXPECT_CODE((*this)[0].connect(), OK);
}

TEST_P(conformance, ConnectEventuallyTimesOutIfAClientDoesNotShowUp) {
  serve(strict(2));
  auto const a = agent(0).register_task(400ms).get();
  EXPECT_CODE(a, DEADLINE_EXCEEDED);
  EXPECT_SAYS(a, "task:1");  // the service's message, sent before the client's deadline
  EXPECT_TRUE(a.coordination);
}

TEST_P(conformance, ZeroInitTimeoutShouldStillWaitForOtherTasks) {
  serve(strict(2));
  auto first = agent(0).register_task();
  EXPECT_TRUE(first.parked_for(a_while));
  EXPECT_CODE(agent(1).register_task().get(), OK);
  EXPECT_CODE(first.get(), OK);
}

TEST_P(conformance, ClientRestart_AfterConnect_Fails) {
  serve(strict(2));
  connect(2);
  auto poll = polling(1);
  (*this)[0].restart();
  EXPECT_CODE((*this)[0].register_task().get(), ABORTED);
  EXPECT_CODE(poll.get(), ABORTED);
  EXPECT_FALSE((*this)[1].shutdown().get().ok());
}

TEST_P(conformance, ClientRestart_DuringConnect_Succeeds) {
  serve(strict(2));
  auto old = agent(0).register_task();
  ASSERT_TRUE(server->parked(1));
  auto fresh = agent(0).register_task();
  EXPECT_CODE(old.get(), ALREADY_EXISTS);
  EXPECT_CODE(agent(1).connect(), OK);
  EXPECT_CODE(fresh.get(), OK);
}

TEST_P(conformance, WaitAtBarrier_TimeoutWithDifferentBarrierId) {
  serve(loose(2));
  connect(2);
  auto other = (*this)[1].barrier("two", 300ms, {}, 0);
  EXPECT_CODE((*this)[0].wait_at("one", 300ms), DEADLINE_EXCEEDED);
  EXPECT_CODE(other.get(), DEADLINE_EXCEEDED);
}

TEST_P(conformance, WaitAtBarrier_ReuseSameId_Succeeds) {
  serve(loose(2));
  connect(2);
  for (std::int64_t n = 0; n < 3; ++n) {
    auto other = (*this)[1].barrier("b", long_time, {}, n);
    EXPECT_CODE((*this)[0].wait_at("b"), OK);
    EXPECT_CODE(other.get(), OK);
  }
}

TEST_P(conformance, WaitAtBarrier_FailedWithBarrierError_IncrementCounter) {
  serve(loose(2));
  connect(2);
  EXPECT_CODE((*this)[0].wait_at("b", 150ms), DEADLINE_EXCEEDED);
  auto other = (*this)[1].barrier("b", long_time, {}, 1);
  EXPECT_CODE((*this)[0].wait_at("b"), OK) << "the error stated that it continues with 1";
  EXPECT_EQ(other.get().counter, 1);
}

TEST_P(conformance, WaitAtBarrier_RestartAndBarrierAgain_Fails) {
  serve(loose(2));
  connect(2);
  for (int n = 0; n < 2; ++n) {
    auto other = (*this)[1].barrier("b", long_time, {}, n);
    EXPECT_CODE((*this)[0].wait_at("b"), OK);
    EXPECT_CODE(other.get(), OK);
  }
  auto third = (*this)[1].barrier("b", long_time, {}, 2);
  ASSERT_TRUE(server->parked(1));
  // Simulates a process that lost its counters.
  auto const a = (*this)[0].barrier("b", long_time, {}, 0).get();
  EXPECT_CODE(a, INTERNAL);
  EXPECT_SAYS(a, "restarted");
  EXPECT_CODE(third.get(), INTERNAL);
}

TEST_P(conformance, WaitAtBarrier_TimeoutThenOkay_StragglingTaskGetsSameError) {
  serve(loose(2));
  connect(2);
  EXPECT_CODE((*this)[0].wait_at("b", 150ms), DEADLINE_EXCEEDED);
  EXPECT_CODE((*this)[1].wait_at("b"), DEADLINE_EXCEEDED);
  auto other = (*this)[1].barrier("b", long_time, {}, 1);
  EXPECT_CODE((*this)[0].wait_at("b"), OK);
  EXPECT_CODE(other.get(), OK);
}

TEST_P(conformance, WaitAtBarrier_QuickTaskStartBarrierTwice_LateTaskGetsSlowError) {
  serve(loose(2));
  connect(2);
  EXPECT_CODE((*this)[0].wait_at("b", 150ms), DEADLINE_EXCEEDED);
  auto second = (*this)[0].barrier("b", long_time, {}, 1);
  ASSERT_TRUE(server->parked(1));
  auto const late = (*this)[1].wait_at("b");
  EXPECT_CODE(late, INTERNAL);
  EXPECT_EQ(late.barrier_counter, 1);
  EXPECT_CODE(second.get(), INTERNAL);
}

TEST_P(conformance, BarrierTimeout_ManyLateTasks_ReturnsCorrectError) {
  auto spec = loose(0);
  spec.jobs = {{std::string(128, 'j'), 20'000, false}};
  serve(std::move(spec));
  agent_options o;
  o.job = std::string(128, 'j');
  EXPECT_CODE(agent(0, o).connect(), OK);
  std::string const id(2'000, '\n');  // three bytes per character on the wire
  auto const a = (*this)[0].barrier(id, 150ms, {}, 0).get();
  EXPECT_CODE(a, DEADLINE_EXCEEDED) << "and not RESOURCE_EXHAUSTED";
  EXPECT_EQ(a.barrier_counter, 0);
}

TEST_P(conformance, Dtor_CancelsOngoingGetKeyValueAndBarrier) {
  serve(loose(2));
  connect(2);
  auto key = (*this)[0].get("never");
  auto barrier = (*this)[0].barrier("b", long_time, {}, 0);
  ASSERT_TRUE(server->parked(2));
  agents.front().reset();
  EXPECT_CODE(key.get(), CANCELLED);
  EXPECT_CODE(barrier.get(), CANCELLED);
  EXPECT_TRUE(server->parked(0));
}

TEST_P(conformance, EnumerateElevenDevices) {
  // Process 0 collects the descriptions of the others and distributes them.
  serve(strict(4));
  connect(4);
  for (int i = 1; i < 4; ++i) {
    auto const key = "cpu:local_topology/cpu/" + std::to_string(i);
    EXPECT_CODE(
        (*this)[static_cast<std::size_t>(i)].insert(key, "devices of " + std::to_string(i)).get(),
        OK);
  }
  std::string all;
  for (int i = 1; i < 4; ++i)
    all += (*this)[0].get("cpu:local_topology/cpu/" + std::to_string(i)).get().value + ";";
  auto waiting = (*this)[3].get("cpu:global_topology/cpu");
  EXPECT_CODE((*this)[0].insert("cpu:global_topology/cpu", all).get(), OK);
  EXPECT_EQ(waiting.get().value, "devices of 1;devices of 2;devices of 3;");
}

TEST_P(conformance, CancelledPollForErrorRequest) {
  serve(loose(1));
  connect(1);
  auto poll = polling(0);
  poll.cancel();
  EXPECT_CODE(poll.get(), CANCELLED);
  EXPECT_TRUE(server->parked(0));
  EXPECT_CODE((*this)[0].heartbeat().get(), OK) << "no error from any task";
}

TEST_P(conformance, UseCompression) {
  serve(loose(1));
  agent_options o;
  o.gzip = true;
  EXPECT_CODE(agent(0, o).connect(), OK);
  std::string const value(100'000, 'z');
  EXPECT_CODE((*this)[0].insert("k", value).get(), OK);
  EXPECT_EQ((*this)[0].get("k").get().value, value);
}

}  // namespace
}  // namespace muster::test
