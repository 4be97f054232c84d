#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "tests/coro/echo_test_support.hpp"

extern char** environ;

namespace muster::coro::test {
namespace {

task<void> stop_at_once(echo_server& s) {
  EXPECT_EQ(s.server.calls(), 16U) << "request slots, eight per method";
  EXPECT_EQ(s.engine.pending_ops(), 16U);
  co_return;
}

TEST(grpc_server, stops_without_any_call) {
  echo_server s;
  s.serve_once(echo_once);
  s.serve_chat(echo_chat);
  s.start();
  s.run(stop_at_once(s));
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
  EXPECT_FALSE(co_await call->write(message)) << "the peer is dead and not half-closed";
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
