#include <fcntl.h>
#include <grpcpp/create_channel_posix.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/coro/echo_test_support.hpp"

extern char** environ;

namespace muster::coro::test {
namespace {

task<void> stop_at_once(echo_server& s) {
  EXPECT_EQ(s.server.calls(), 16U) << "request slots, eight a method";
  EXPECT_EQ(s.engine.pending_ops(), 16U);
  co_return;
}

TEST(grpc_server, stops_when_nobody_called) {
  echo_server s;
  s.serve_once(echo_once);
  s.serve_chat(echo_chat);
  s.start();
  s.run(stop_at_once(s));
}

task<void> do_nothing() {
  co_return;
}

TEST(grpc_server, a_port_in_use_is_an_error_that_names_the_address) {
  echo_server first;
  first.start();
  grpc::ServerBuilder builder;
  engine_context engine(builder.AddCompletionQueue());
  Echo::AsyncService service;
  grpc_server second(engine, builder);
  second.add_service(service);
  second.add_port("127.0.0.1:0");
  second.add_port(first.address);
  auto const started = second.start();
  EXPECT_FALSE(started);
  EXPECT_EQ(started.error, "cannot listen on " + first.address);
  first.run(do_nothing());
}

std::unique_ptr<Echo::Stub> connect(echo_server& s) {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  s.server.adopt(ends[0]);
  return Echo::NewStub(grpc::CreateInsecureChannelFromFd("adopted", ends[1]));
}

task<void> call_over_socket(echo_server& s, Echo::Stub& stub) {
  grpc::ClientContext context;
  Ping message = ping(7);
  auto const status =
      co_await unary_call(s.engine, stub, &Echo::Stub::PrepareAsyncOnce, context, message, message);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(message.id(), 7);
}

TEST(grpc_server, serves_a_connection_that_someone_else_accepted) {
  echo_server s;
  s.serve_once(echo_once);
  s.start();
  auto const stub = connect(s);
  s.run(call_over_socket(s, *stub));
}

struct victim {
  explicit victim(engine_context& e) : seen(e), gone(e) {}
  event seen;
  event gone;
};

task<void> watch_peer(victim& v, std::unique_ptr<chat_call> call) {
  Ping message;
  EXPECT_TRUE(co_await call->read(message));
  v.seen.set();
  EXPECT_FALSE(co_await call->read(message));
  EXPECT_FALSE(co_await call->write(message)) << "the peer is gone, not half-closed";
  EXPECT_FALSE(co_await call->finish(grpc::Status::OK));
  v.gone.set();
}

task<void> kill_peer(victim& v, pid_t child) {
  EXPECT_TRUE(co_await v.seen.wait());
  ::kill(child, SIGKILL);
  EXPECT_TRUE(co_await v.gone.wait());
}

TEST(grpc_server, a_pending_read_sees_a_peer_die_by_sigkill) {
  echo_server s;
  victim v(s.engine);
  s.serve_chat([&v](std::unique_ptr<chat_call> c) { return watch_peer(v, std::move(c)); });
  s.start();
  pid_t child = 0;
  std::string program = CORO_ECHO_PEER;
  char* const arguments[] = {program.data(), s.address.data(), nullptr};
  ASSERT_EQ(::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ), 0);
  s.run(kill_peer(v, child));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
}

}  // namespace
}  // namespace muster::coro::test
