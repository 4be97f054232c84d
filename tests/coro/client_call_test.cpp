#include "tests/coro/echo_test_support.hpp"

namespace muster::coro::test {
namespace {

std::unique_ptr<Echo::Stub> stub_to_unreachable_server() {
  // Nothing listens on port 1.
  return Echo::NewStub(grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials()));
}

task<void> call_unreachable_server(engine_context& engine, Echo::Stub& stub) {
  grpc::ClientContext context;
  Ping message;
  auto const status =
      co_await unary_call(engine, stub, &Echo::Stub::PrepareAsyncOnce, context, message, message);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(client_unary, a_server_that_is_not_there_is_unavailable) {
  engine_context engine(plain_queue());
  auto const stub = stub_to_unreachable_server();
  run_to_end(engine, call_unreachable_server(engine, *stub));
}

task<void> chat_with_unreachable_server(engine_context& engine, Echo::Stub& stub) {
  chat_client call(engine);
  EXPECT_FALSE(co_await call.start(chat_by(stub)));
  auto const status = co_await call.finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(client_bidi, a_server_that_is_not_there_fails_the_start) {
  engine_context engine(plain_queue());
  auto const stub = stub_to_unreachable_server();
  run_to_end(engine, chat_with_unreachable_server(engine, *stub));
}

task<void> wait_until_gone(std::unique_ptr<once_call> call) {
  event gone(call->engine());
  call->on_cancel([&gone] { gone.set(); });
  EXPECT_TRUE(co_await gone.wait());
}

task<void> call_with_deadline(echo_server& s) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 20ms);
  Ping message;
  auto const status = co_await unary_call(s.engine, *s.stub, &Echo::Stub::PrepareAsyncOnce, context,
                                          message, message);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST(client_unary, a_deadline_ends_the_call_on_both_sides) {
  echo_server s;
  s.serve_once(wait_until_gone);
  s.start();
  s.run(call_with_deadline(s));
}

task<void> store_status(echo_server& s, grpc::Status& status) {
  co_await asio::this_coro::throw_if_cancelled(false);
  Ping message;
  status = co_await call_once(s, message);
}

task<void> cancel_the_task(echo_server& s) {
  grpc::Status status;
  task_group group(s.engine.get_executor(), 1, fail_test);
  group.spawn("caller", store_status(s, status));
  group.cancel();
  co_await group.wait();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
}

TEST(client_unary, cancelling_the_task_cancels_the_call) {
  echo_server s;
  s.serve_once(wait_until_gone);
  s.start();
  s.run(cancel_the_task(s));
}

}  // namespace
}  // namespace muster::coro::test
