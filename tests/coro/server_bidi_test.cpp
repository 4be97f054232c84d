#include <grpcpp/generic/generic_stub.h>

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "tests/coro/echo_test_support.hpp"

namespace muster::coro::test {
namespace {

using namespace boost::asio::experimental::awaitable_operators;

task<void> chat(echo_server& s, int messages) {
  chat_client call(s.engine);
  EXPECT_TRUE(co_await call.start(chat_by(*s.stub)));
  Ping answer;
  for (int i = 0; i < messages; ++i) {
    Ping const question = ping(i);
    EXPECT_TRUE(co_await call.write(question));
    EXPECT_TRUE(co_await call.read(answer));
    EXPECT_EQ(answer.id(), i);
  }
  EXPECT_TRUE(co_await call.writes_done());
  EXPECT_FALSE(co_await call.read(answer)) << "the server ends after the half-close";
  auto const status = co_await call.finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST(server_bidi, echoes_until_the_client_half_closes) {
  echo_server s;
  s.serve_chat(echo_chat);
  s.start();
  s.run(chat(s, 100));
}

struct observed_end {
  explicit observed_end(engine_context& e) : arrived(e) {}
  event arrived;
  bool read_failed = false;
  bool cancelled = false;
};

// Reads to the end, then writes a message, which only a half-closed client still receives.
task<void> last_word(observed_end& seen, std::unique_ptr<chat_call> call) {
  Ping message;
  seen.arrived.set();
  bool more = true;
  while (more) more = co_await call->read(message);
  seen.read_failed = true;
  bool const sent = co_await call->write(ping(99));
  seen.cancelled = !sent;
  co_await call->finish(grpc::Status::OK);
}

task<void> half_close(echo_server& s) {
  chat_client call(s.engine);
  EXPECT_TRUE(co_await call.start(chat_by(*s.stub)));
  EXPECT_TRUE(co_await call.writes_done());
  Ping answer;
  EXPECT_TRUE(co_await call.read(answer));
  EXPECT_EQ(answer.id(), 99);
  auto const status = co_await call.finish();
  EXPECT_TRUE(status.ok());
}

TEST(server_bidi, can_still_write_after_the_client_half_closed) {
  echo_server s;
  observed_end seen(s.engine);
  s.serve_chat([&](std::unique_ptr<chat_call> c) { return last_word(seen, std::move(c)); });
  s.start();
  s.run(half_close(s));
  EXPECT_TRUE(seen.read_failed);
  EXPECT_FALSE(seen.cancelled);
}

// Leaves only once the handler runs, since gRPC drops a call that is cancelled before a slot took
// it.
task<void> leave(echo_server& s, observed_end& seen, bool politely) {
  chat_client call(s.engine);
  EXPECT_TRUE(co_await call.start(chat_by(*s.stub)));
  EXPECT_TRUE(co_await call.write(ping(1)));
  EXPECT_TRUE(co_await seen.arrived.wait());
  if (politely) {
    call.cancel();
    auto const status = co_await call.finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
  }
}

TEST(server_bidi, a_pending_read_sees_that_the_client_cancelled) {
  echo_server s;
  observed_end seen(s.engine);
  s.serve_chat([&](std::unique_ptr<chat_call> c) { return last_word(seen, std::move(c)); });
  s.start();
  s.run(leave(s, seen, true));
  EXPECT_TRUE(seen.read_failed);
}

TEST(server_bidi, a_pending_read_sees_that_the_client_dropped_its_call) {
  echo_server s;
  observed_end seen(s.engine);
  s.serve_chat([&](std::unique_ptr<chat_call> c) { return last_word(seen, std::move(c)); });
  s.start();
  s.run(leave(s, seen, false));
  EXPECT_TRUE(seen.read_failed);
}

struct handler_log {
  explicit handler_log(engine_context& e) : arrived(e), ended(e) {}
  event arrived;
  event ended;
  int cleaned_up = 0;
};

task<void> drain(chat_call& call) {
  Ping message;
  bool more = true;
  while (more) more = co_await call.read(message);
}

task<void> with_children(handler_log& log, std::unique_ptr<chat_call> call) {
  task_group children(call->engine().get_executor(), 1, fail_test);
  children.spawn("reader", drain(*call));
  log.arrived.set();
  co_await children.wait();  // cancelling this handler cancels the reader
  ++log.cleaned_up;
  co_await call->finish(grpc::Status::OK);
  log.ended.set();
}

task<void> cancel_handlers(echo_server& s, handler_log& log) {
  chat_client call(s.engine);
  EXPECT_TRUE(co_await call.start(chat_by(*s.stub)));
  EXPECT_TRUE(co_await log.arrived.wait());
  s.calls.cancel();
  EXPECT_TRUE(co_await log.ended.wait());
  auto const status = co_await call.finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
}

TEST(server_bidi, cancelling_the_task_group_ends_a_handler_through_its_clean_up) {
  echo_server s;
  handler_log log(s.engine);
  s.serve_chat([&](std::unique_ptr<chat_call> c) { return with_children(log, std::move(c)); });
  s.start();
  s.run(cancel_handlers(s, log));
  EXPECT_EQ(log.cleaned_up, 1);
}

task<void> read_with_timeout(bool& timed_out, std::unique_ptr<chat_call> call) {
  Ping message;
  timer limit(call->engine());
  auto const first = co_await (call->read(message) || limit.wait_for(5ms));
  timed_out = first.index() == 1;
  co_await call->finish(grpc::Status::OK);
}

task<void> stay_silent(echo_server& s) {
  chat_client call(s.engine);
  EXPECT_TRUE(co_await call.start(chat_by(*s.stub)));
  auto const status = co_await call.finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
}

TEST(server_bidi, a_read_that_loses_against_a_timer_cancels_the_call) {
  echo_server s;
  bool timed_out = false;
  s.serve_chat(
      [&](std::unique_ptr<chat_call> c) { return read_with_timeout(timed_out, std::move(c)); });
  s.start();
  s.run(stay_silent(s));
  EXPECT_TRUE(timed_out);
}

using raw_call = server_bidi<grpc::ByteBuffer, grpc::ByteBuffer>;

task<void> echo_raw(std::unique_ptr<raw_call> call) {
  grpc::ByteBuffer bytes;
  for (bool more = co_await call->read(bytes); more; more = co_await call->read(bytes))
    co_await call->write(bytes);
  co_await call->finish(grpc::Status::OK);
}

task<void> raw_chat(engine_context& engine, grpc::GenericStub& stub) {
  client_bidi<grpc::ByteBuffer, grpc::ByteBuffer> call(engine);
  auto const prepare = [&stub](grpc::ClientContext* context, grpc::CompletionQueue* queue) {
    return stub.PrepareCall(context, "/muster.coro_test.Echo/Chat", queue);
  };
  EXPECT_TRUE(co_await call.start(prepare));
  grpc::Slice const slice("not a protobuf message");
  grpc::ByteBuffer const question(&slice, 1);
  grpc::ByteBuffer answer;
  EXPECT_TRUE(co_await call.write(question));
  EXPECT_TRUE(co_await call.read(answer));
  EXPECT_EQ(answer.Length(), slice.size());
  EXPECT_TRUE(co_await call.writes_done());
  auto const status = co_await call.finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST(server_bidi, carries_bytes_that_are_not_protobuf) {
  grpc::ServerBuilder builder;
  engine_context engine(builder.AddCompletionQueue());
  Echo::WithRawMethod_Chat<Echo::Service> service;
  task_group calls(engine.get_executor(), 10, fail_test);
  grpc_server server(engine, builder);
  server.add_service(service);
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  accept_options options;
  options.name = "raw";
  accept_bidi(server, service, &Echo::WithRawMethod_Chat<Echo::Service>::RequestChat, options,
              calls, echo_raw);
  auto const started = server.start();
  ASSERT_TRUE(started) << started.error;
  grpc::GenericStub stub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  auto body = [](engine_context& e, grpc::GenericStub& generic, grpc_server& g) -> task<void> {
    co_await raw_chat(e, generic);
    co_await g.stop(1s);
  };
  run_to_end(engine, body(engine, stub, server));
}

task<void> read_twice(std::unique_ptr<chat_call> call) {
  task_group children(call->engine().get_executor(), 2, fail_test);
  children.spawn("reader", drain(*call));
  children.spawn("another reader", drain(*call));
  co_await children.wait();
}

TEST(server_bidi_death, second_concurrent_read_aborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto const misuse = [] {
    echo_server s;
    s.serve_chat(read_twice);
    s.start();
    s.run(stay_silent(s));
  };
  EXPECT_DEATH(misuse(), "one outstanding operation of each kind");
}

}  // namespace
}  // namespace muster::coro::test
