// Shutdown order under load: the server stops during many streams and unary calls.
#include <thread>

#include "tests/coro/echo_test_support.hpp"

namespace muster::coro::test {
namespace {

constexpr int streams = 30;
constexpr int callers = 30;

// The clients have their own engine and thread, and stop after the server.
struct load {
  explicit load(echo_server& s)
      : server(s), engine(plain_queue()), tasks(engine.get_executor(), 100, fail_test) {}
  echo_server& server;
  engine_context engine;
  task_group tasks;
  std::unique_ptr<Echo::Stub> stub;
  int answers = 0;
  bool told = false;
};

void count_answer(load& l, event& warm) {
  if (++l.answers >= 500 && !l.told) {
    l.told = true;
    l.server.engine.post([&warm] { warm.set(); });
  }
}

task<void> chat_until_refused(load& l, event& warm) {
  chat_client call(l.engine);
  bool alive = co_await call.start(chat_by(*l.stub));
  Ping message = ping(1);
  while (alive) {
    alive = co_await call.write(message);
    if (alive) alive = co_await call.read(message);
    if (alive) count_answer(l, warm);
  }
  co_await call.finish();
}

task<void> call_until_refused(load& l, event& warm) {
  for (bool alive = true; alive;) {
    grpc::ClientContext context;
    Ping message = ping(2);
    auto const status = co_await unary_call(l.engine, *l.stub, &Echo::Stub::PrepareAsyncOnce,
                                            context, message, message);
    alive = status.ok();
    if (alive) count_answer(l, warm);
  }
}

task<void> run_load(load& l, event& warm) {
  for (int i = 0; i < streams; ++i) l.tasks.spawn("stream", chat_until_refused(l, warm));
  for (int i = 0; i < callers; ++i) l.tasks.spawn("caller", call_until_refused(l, warm));
  co_await l.tasks.wait();
}

task<void> stop_when_warm(echo_server& s, event& warm, std::chrono::milliseconds grace) {
  EXPECT_TRUE(co_await warm.wait());
  co_await s.server.stop(grace);
  EXPECT_EQ(s.engine.pending_ops(), 0U);
  EXPECT_EQ(s.server.calls(), 0U);
  co_await s.calls.wait();
}

void one_round(std::chrono::milliseconds grace) {
  echo_server s;
  event warm(s.engine);
  s.serve_once(echo_once);
  s.serve_chat(echo_chat);
  s.start();
  load clients(s);
  clients.stub = Echo::NewStub(grpc::CreateChannel(s.address, grpc::InsecureChannelCredentials()));
  std::thread thread([&] { run_to_end(clients.engine, run_load(clients, warm)); });
  run_to_end(s.engine, stop_when_warm(s, warm, grace));
  thread.join();
  EXPECT_GE(clients.answers, 500);
}

TEST(shutdown, is_clean_twenty_times_under_load) {
  for (int round = 0; round < 20; ++round) one_round(round % 2 == 0 ? 20ms : 0ms);
}

task<void> never_answer(std::unique_ptr<once_call> call) {
  event cancelled(call->engine());
  call->on_cancel([&cancelled] { cancelled.set(); });
  co_await cancelled.wait();
}

task<void> call_for_ever(echo_server& s) {
  Ping message;
  auto const status = co_await call_once(s, message);
  EXPECT_FALSE(status.ok());
}

task<void> leave_calls_parked(echo_server& s, task_group& clients) {
  for (int i = 0; i < 100; ++i) clients.spawn("caller", call_for_ever(s));
  timer settle(s.engine);
  while (s.calls.size() < 100) co_await settle.wait_for(1ms);
  co_await s.server.stop(10ms);
  co_await s.calls.wait();
  co_await clients.wait();
}

TEST(shutdown, cancels_calls_that_outlast_the_grace) {
  echo_server s;
  task_group clients(s.engine.get_executor(), 100, fail_test);
  s.serve_once(never_answer);
  s.start();
  run_to_end(s.engine, leave_calls_parked(s, clients));
}

}  // namespace
}  // namespace muster::coro::test
