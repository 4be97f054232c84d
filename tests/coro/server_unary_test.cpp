#include <stdexcept>

#include "tests/coro/echo_test_support.hpp"

namespace muster::coro::test {
namespace {

task<void> expect_echo(echo_server& s) {
  Ping message = ping(42);
  auto const status = co_await call_once(s, message);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(message.id(), 42);
}

TEST(server_unary, answers_the_request) {
  echo_server s;
  s.serve_once(echo_once);
  s.start();
  s.run(expect_echo(s));
}

task<void> refuse(std::unique_ptr<once_call> call) {
  co_await call->finish(grpc::Status(grpc::StatusCode::NOT_FOUND, "no such thing"));
}

task<void> expect_not_found(echo_server& s) {
  Ping message;
  auto const status = co_await call_once(s, message);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "no such thing");
}

TEST(server_unary, answers_an_error) {
  echo_server s;
  s.serve_once(refuse);
  s.start();
  s.run(expect_not_found(s));
}

task<void> throw_in(std::unique_ptr<once_call> call) {
  EXPECT_EQ(call->request().id(), 1);
  throw std::runtime_error("broken handler");
  co_return;
}

task<void> return_silently(std::unique_ptr<once_call>) {
  co_return;
}

task<void> expect_internal(echo_server& s) {
  Ping message = ping(1);
  auto const status = co_await call_once(s, message);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
}

TEST(server_unary, a_handler_that_throws_answers_internal_and_is_reported) {
  int reported = 0;
  echo_server s(10, [&](std::string_view name, std::exception_ptr) {
    EXPECT_EQ(name, "once");
    ++reported;
  });
  s.serve_once(throw_in);
  s.start();
  s.run(expect_internal(s));
  EXPECT_EQ(reported, 1);
}

TEST(server_unary, a_handler_that_forgets_the_answer_answers_internal) {
  echo_server s;
  s.serve_once(return_silently);
  s.start();
  s.run(expect_internal(s));
}

struct parked_calls {
  explicit parked_calls(engine_context& e) : cancelled(e), arrived(e) {}
  event cancelled;
  event arrived;
};

task<void> park(parked_calls& p, std::unique_ptr<once_call> call) {
  call->on_cancel([&p] { p.cancelled.set(); });
  p.arrived.set();
  EXPECT_TRUE(co_await p.cancelled.wait());
  EXPECT_TRUE(call->cancelled());
  EXPECT_FALSE(co_await call->finish(Ping()));
}

task<void> cancel_when_set(event& arrived, grpc::ClientContext& context) {
  EXPECT_TRUE(co_await arrived.wait());
  context.TryCancel();
}

task<void> cancel_a_parked_call(echo_server& s, parked_calls& p) {
  grpc::ClientContext context;
  task_group group(s.engine.get_executor(), 1, fail_test);
  group.spawn("canceller", cancel_when_set(p.arrived, context));
  Ping message;
  auto const status = co_await unary_call(s.engine, *s.stub, &Echo::Stub::PrepareAsyncOnce, context,
                                          message, message);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
  co_await group.wait();
}

TEST(server_unary, parked_call_is_notified_when_its_caller_leaves) {
  echo_server s;
  parked_calls p(s.engine);
  s.serve_once([&p](std::unique_ptr<once_call> call) { return park(p, std::move(call)); });
  s.start();
  s.run(cancel_a_parked_call(s, p));
}

task<void> expect_busy(echo_server& s, parked_calls& p) {
  grpc::ClientContext context;
  task_group group(s.engine.get_executor(), 1, fail_test);
  group.spawn("first", cancel_a_parked_call(s, p));
  timer settle(s.engine);
  while (s.calls.empty()) co_await settle.wait_for(1ms);
  Ping message;
  auto const status = co_await unary_call(s.engine, *s.stub, &Echo::Stub::PrepareAsyncOnce, context,
                                          message, message);
  // The limit is one call, so the second is refused even if the first is still parked.
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  p.arrived.set();
  co_await group.wait();
}

task<void> park_quietly(parked_calls& p, std::unique_ptr<once_call> call) {
  call->on_cancel([&p] { p.cancelled.set(); });
  EXPECT_TRUE(co_await p.cancelled.wait());
}

TEST(server_unary, calls_over_the_limit_are_refused) {
  echo_server s(1);
  parked_calls p(s.engine);
  s.serve_once([&p](std::unique_ptr<once_call> call) { return park_quietly(p, std::move(call)); });
  s.start();
  s.run(expect_busy(s, p));
}

task<void> hold_until(event& open, int& waiting, std::unique_ptr<once_call> call) {
  timer poll(call->engine());
  if (++waiting == 50) open.set();
  while (waiting < 50) co_await poll.wait_for(1ms);
  co_await call->finish(call->request());
}

task<void> count_echo(echo_server& s, int& answered) {
  co_await expect_echo(s);
  ++answered;
}

task<void> fifty_at_once(echo_server& s, int& answered) {
  task_group group(s.engine.get_executor(), 50, fail_test);
  for (int i = 0; i < 50; ++i) group.spawn("caller", count_echo(s, answered));
  co_await group.wait();
}

TEST(server_unary, two_slots_take_fifty_calls_that_wait_for_each_other) {
  echo_server s;
  event open(s.engine);
  int waiting = 0;
  s.serve_once(
      [&](std::unique_ptr<once_call> c) { return hold_until(open, waiting, std::move(c)); }, 2);
  s.start();
  int answered = 0;
  s.run(fifty_at_once(s, answered));
  EXPECT_EQ(answered, 50);
}

}  // namespace
}  // namespace muster::coro::test
