// Ports of TensorFlow's coordination_service_agent_test to the C++ library. Answers that the real
// service never gives come from a scripted service.
//
// Tests with other names:
//   GetKeyValue_Simple, _WithTimeout, _Timeout_ReturnError, _DelayedResponse_*
//                              agent.get_waits_until_the_key_is_set_or_the_timeout_expires
//   TryGetKeyValue_Simple, IncrementKeyValue_Simple, GetKeyValueDir_Simple
//   agent.keys_are_set_read_incremented_listed_and_deleted
//   WaitAtBarrier_FailedWithBarrierError_IncrementCounter
//                              agent.a_barrier_that_times_out_counts_as_a_use
//   WaitAtBarrier_FailedWithRpcError_DoesNotIncrementCounter
//                              agent_life.broken_connection_is_not_an_error
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <mutex>
#include <queue>

#include "tensorflow/distributed_runtime_payloads.pb.h"
#include "tests/client/agent_fixture.hpp"
#include "xla/coordination/coordination_service.grpc.pb.h"

namespace muster::test {
namespace {

namespace x = xla::coordination;

grpc::Status refusal(grpc::StatusCode code, std::string const& message) {
  tensorflow::distributed_runtime::GrpcPayloadContainer all;
  (*all.mutable_payloads())["type.googleapis.com/tensorflow.CoordinationServiceError"] = "";
  return {code, message, all.SerializeAsString()};
}

/// Answers registrations and error polls in the given order. Later registrations succeed, and later
/// polls wait until the service ends.
class scripted_service : public x::CoordinationService::Service {
 public:
  explicit scripted_service(std::vector<grpc::Status> registrations,
                            std::vector<grpc::Status> polls = {})
      : registrations_(std::move(registrations)), polls_(std::move(polls)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~scripted_service() override {
    over_.set_value();
    server_->Shutdown();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::size_t registered() const { return asked_; }

 private:
  grpc::Status RegisterTask(grpc::ServerContext*, x::RegisterTaskRequest const*,
                            x::RegisterTaskResponse* r) override {
    r->set_service_incarnation(1);
    auto const n = asked_++;
    return n < registrations_.size() ? registrations_[n] : grpc::Status::OK;
  }
  grpc::Status Heartbeat(grpc::ServerContext*, x::HeartbeatRequest const*,
                         x::HeartbeatResponse*) override {
    return grpc::Status::OK;
  }
  grpc::Status PollForError(grpc::ServerContext*, x::PollForErrorRequest const*,
                            x::PollForErrorResponse*) override {
    if (auto const n = polled_++; n < polls_.size()) return polls_[n];
    ended_.wait();  // waits until the service ends
    return refusal(grpc::StatusCode::CANCELLED, "the service ends");
  }
  grpc::Status TryGetKeyValue(grpc::ServerContext*, x::TryGetKeyValueRequest const*,
                              x::TryGetKeyValueResponse*) override {
    return refusal(grpc::StatusCode::NOT_FOUND, "no such key");
  }

  std::vector<grpc::Status> const registrations_, polls_;
  std::atomic<std::size_t> asked_ = 0, polled_ = 0;
  std::promise<void> over_;
  std::shared_future<void> const ended_ = over_.get_future().share();
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

coordination_code raised_code(std::function<void()> const& f) {
  return raised_by<coordination_error>(f).code();
}

TEST(agent_conformance, Connect_AbortedErrorShouldBeRetried) {
  scripted_service service({refusal(grpc::StatusCode::ABORTED, "another incarnation is there"),
                            refusal(grpc::StatusCode::ABORTED, "another incarnation is there")});
  muster::coordination_agent a(as_task(service.address(), 0));
  a.connect();
  EXPECT_EQ(a.state(), agent_state::connected);
  EXPECT_EQ(service.registered(), 3u);
}

TEST(agent_conformance, Connect_AbortedErrorShouldFailEventually) {
  scripted_service service(std::vector(1'000, refusal(grpc::StatusCode::ABORTED, "still there")));
  auto o = as_task(service.address(), 0);
  o.connect_timeout = 400ms;
  muster::coordination_agent a(o);
  EXPECT_EQ(raised_code([&] { a.connect(); }), coordination_code::aborted);
  EXPECT_EQ(a.state(), agent_state::idle);
  EXPECT_GE(service.registered(), 3u);
}

TEST(agent_conformance, Connect_InternalErrorShouldBeRetried) {
  scripted_service service({refusal(grpc::StatusCode::INTERNAL, "a task has failed meanwhile")});
  muster::coordination_agent a(as_task(service.address(), 0));
  a.connect();
  EXPECT_EQ(service.registered(), 2u);
}

// A client's own shutdown also cancels the poll, so this is not an error.
TEST(agent_conformance, CancelledPollForErrorRequest) {
  scripted_service service({}, {refusal(grpc::StatusCode::CANCELLED, "it has shut down")});
  muster::coordination_agent a(as_task(service.address(), 0));
  a.connect();
  EXPECT_FALSE(a.wait_for_error(200ms).has_value());
  EXPECT_EQ(a.state(), agent_state::connected);
  EXPECT_EQ(a.try_get("k"), std::nullopt);
}

TEST(agent_conformance, InvalidPollForErrorRequest) {
  scripted_service service({}, {refusal(grpc::StatusCode::INVALID_ARGUMENT, "no such task")});
  muster::coordination_agent a(as_task(service.address(), 0));
  a.connect();
  auto const e = a.wait_for_error(long_time);
  ASSERT_TRUE(e.has_value());
  EXPECT_EQ(e->code(), coordination_code::invalid_argument);
  EXPECT_EQ(a.state(), agent_state::failed);
}

TEST(agent_conformance, PollForErrorRequestWithFailedPrecondition) {
  scripted_service service({}, {refusal(grpc::StatusCode::FAILED_PRECONDITION, "in error")});
  muster::coordination_agent a(as_task(service.address(), 0));
  a.connect();
  ASSERT_TRUE(a.wait_for_error(long_time).has_value());
  EXPECT_EQ(a.state(), agent_state::failed);
  EXPECT_EQ(raised_by<agent_error>([&] { a.try_get("k"); }).code(),
            coordination_code::failed_precondition);
}

TEST(agent_conformance, CancelGetKeyValue_Success) {
  test_server server(agents(1));
  auto const all = connected(server.address(), 1);
  auto waiting = beside([&] { return all[0]->get("k", long_time); });
  ASSERT_TRUE(server.parked(2));
  all[0]->shutdown();
  EXPECT_EQ(raised_code([&] { waiting.get(); }), coordination_code::cancelled);
}

TEST(agent_conformance, WaitAtBarrier_Twice_Success) {
  test_server server(agents(1));
  auto const all = connected(server.address(), 1);
  EXPECT_EQ(all[0]->barrier("b", long_time), 0);
  EXPECT_EQ(all[0]->barrier("b", long_time), 1);
}

TEST(agent_conformance, WaitAtBarrier_Ongoing_Fails) {
  test_server server(agents(2));
  auto const both = connected(server.address(), 2);
  auto waiting = beside([&] { return both[0]->barrier("b", long_time); });
  ASSERT_TRUE(server.parked(3));
  EXPECT_EQ(raised_code([&] { both[0]->barrier("b", long_time); }),
            coordination_code::failed_precondition);
  EXPECT_EQ(both[1]->barrier("b", long_time), 0);
  EXPECT_EQ(waiting.get(), 0);
}

TEST(agent_conformance, CancelBarrier_OngoingBarrier_Cancelled) {
  test_server server(agents(2));
  auto const both = connected(server.address(), 2);
  auto waiting = beside([&] { return both[0]->barrier("b", long_time); });
  ASSERT_TRUE(server.parked(3));
  both[0]->cancel_barrier("b");
  EXPECT_EQ(raised_by<coordination_barrier_error>([&] { waiting.get(); }).code(),
            coordination_code::cancelled);
}

TEST(agent_conformance, CancelBarrier_CompletedBarrier_Fails) {
  test_server server(agents(1));
  auto const all = connected(server.address(), 1);
  all[0]->barrier("b", long_time);
  EXPECT_EQ(raised_code([&] { all[0]->cancel_barrier("b"); }),
            coordination_code::failed_precondition);
}

TEST(agent_conformance, CancelBarrier_ErroredBarrier_Fails) {
  test_server server(agents(2));
  auto const both = connected(server.address(), 2);
  EXPECT_THROW(both[0]->barrier("b", 50ms), coordination_barrier_error);
  EXPECT_EQ(raised_code([&] { both[0]->cancel_barrier("b"); }),
            coordination_code::failed_precondition);
}

// Replaces CancelBarrier_NonExistent_Fails. Tasks that do not participate may cancel here, so the
// client cannot detect the error. As in TensorFlow's service, a barrier that does not exist starts
// cancelled.
TEST(agent_conformance, CancelBarrier_NonExistent_BeginsCancelled) {
  test_server server(agents(1));
  auto const all = connected(server.address(), 1);
  all[0]->cancel_barrier("b");
  EXPECT_EQ(raised_by<coordination_barrier_error>([&] { all[0]->barrier("b", long_time); }).code(),
            coordination_code::cancelled);
  EXPECT_EQ(all[0]->barrier("b", long_time), 1) << "the barrier was used once before";
}

}  // namespace
}  // namespace muster::test
