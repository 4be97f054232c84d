#include <gtest/gtest.h>

#include "server/core/queries/worker_queries.hpp"
#include "tests/support/hand_worker.hpp"
#include "tests/support/test_server.hpp"

namespace muster::test {
namespace {

using std::chrono::milliseconds;

TEST(worker_stream, hello_is_answered_with_a_welcome) {
  test_server_options o;
  o.core.heartbeat_timeout = std::chrono::seconds(6);
  o.workers.server_version = "1.2";
  o.workers.server_incarnation = [] { return std::uint64_t{77}; };
  test_server server(o);
  hand_worker worker(server.address(), make_hello({"f"}, 2, 100'000));
  EXPECT_EQ(worker.welcome.job(), "worker");
  EXPECT_EQ(worker.welcome.index(), 0u);
  EXPECT_EQ(worker.welcome.heartbeat_interval_ms(), 2000u);
  EXPECT_EQ(worker.welcome.credits(), core::config{}.credits_max);
  EXPECT_EQ(worker.welcome.server_version(), "1.2");
  EXPECT_EQ(worker.welcome.server_incarnation(), 77u);
}

TEST(worker_stream, gets_closures_and_answers_them) {
  test_server server;
  hand_worker worker(server.address(), make_hello({"other", "f"}));
  hand_session session(server.address(), {});
  session.schedule(40, 1, 0, "[1,2]");
  auto const given = worker.read_closures();
  ASSERT_TRUE(given);
  EXPECT_EQ(given->function(0), 1u);  // its number on this stream
  EXPECT_EQ(given->args(0), "[1,2]");
  EXPECT_EQ(given->attempt(0), 1u);
  worker.answer(*given, "3");
  auto const outcomes = session.read_outcomes(1);
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes[0].token(0), 40u);
  EXPECT_EQ(outcomes[0].value(0), "3");
  EXPECT_EQ(outcomes[0].failure_size(), 0);
}

TEST(worker_stream, gets_the_number_of_tasks_of_its_job) {
  test_server server;
  auto hello = make_hello(), other = make_hello({"f"}, 1, 16, 8);
  hello.set_index(2);
  other.set_job("ps");
  hand_worker worker(server.address(), hello), ps(server.address(), other);
  hand_session session(server.address(), {});
  session.schedule(1, 1);
  auto const given = worker.read_closures();
  ASSERT_TRUE(given);
  EXPECT_EQ(given->workers(), 3u);
  EXPECT_EQ(given->num_workers_size(), 0);
}

TEST(worker_stream, gets_the_number_of_workers_that_a_session_declares) {
  test_server server;
  hand_worker worker(server.address(), make_hello());
  v1::Open open;
  open.set_num_workers(5);
  hand_session session(server.address(), open);
  session.schedule(1, 1);
  auto const given = worker.read_closures();
  ASSERT_TRUE(given);
  ASSERT_EQ(given->num_workers_size(), 1);
  EXPECT_EQ(given->num_workers(0), 5u);
}

TEST(worker_stream, holds_no_more_than_its_credits) {
  test_server server;
  hand_session session(server.address(), {});
  session.schedule(0, 5000);
  hand_worker worker(server.address(), make_hello({"f"}, 4, 32));
  std::vector<v1::ServerMessage> unanswered;
  int held = 0;
  for (int answered = 0; answered < 5000;) {
    auto m = worker.read_closures();
    ASSERT_TRUE(m);
    held += m->closure_size();
    ASSERT_LE(held, 32);
    ASSERT_TRUE(worker.answer(*m));
    answered += m->closure_size();
    held -= m->closure_size();
  }
  int got = 0;
  for (auto const& m : session.read_outcomes(5000)) got += m.token_size();
  EXPECT_EQ(got, 5000);
}

TEST(worker_stream, half_close_returns_held_closures) {
  test_server server;
  hand_session session(server.address(), {});
  hand_worker first(server.address(), make_hello({"f"}, 1, 1, 1));
  session.schedule(0, 1);
  ASSERT_TRUE(first.read_closures());
  ASSERT_TRUE(first.half_close());
  EXPECT_TRUE(first.finish().ok());
  EXPECT_TRUE(server.eventually([](core::coordinator const& c) {
    return c.workers().find("worker", 0)->state == core::task_state::disconnected;
  }));
  hand_worker second(server.address(), make_hello({"f"}, 1, 1, 2));
  auto const again = second.read_closures();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->attempt(0), 2u);
}

TEST(worker_stream, drain_by_the_worker_is_confirmed_last) {
  test_server server;
  hand_session session(server.address(), {});
  hand_worker worker(server.address(), make_hello({"f"}, 2, 2));
  session.schedule(0, 10);
  v1::WorkerMessage drain;
  drain.set_drain(true);
  worker.write(drain);
  int held = 0;
  for (bool drained = false; !drained;) {
    auto const m = worker.read();
    ASSERT_TRUE(m);
    held += m->closure_size();
    drained = m->drain();
  }
  EXPECT_LE(held, 2);
  worker.half_close();
  EXPECT_TRUE(worker.finish().ok());
}

TEST(worker_stream, drain_by_an_operator_reaches_the_worker) {
  test_server server;
  hand_worker worker(server.address(), make_hello());
  server.on_engine([](server::hub& h) {
    core::drain_task e;
    e.job = "worker";
    h.ask(e, [](core::reply const& r) { EXPECT_TRUE(r.status.ok()); });
    return 0;
  });
  auto const m = worker.read();
  ASSERT_TRUE(m);
  EXPECT_TRUE(m->drain());
}

TEST(worker_stream, stop_request_comes_after_its_closure) {
  test_server server;
  hand_worker worker(server.address(), make_hello({"f"}, 1, 1));
  hand_session session(server.address(), {});
  session.schedule(0, 1);
  auto const given = worker.read_closures();
  ASSERT_TRUE(given);
  v1::SessionRequest cancel;
  cancel.set_cancel(true);
  session.write(cancel);
  auto const stop = worker.read();
  ASSERT_TRUE(stop);
  ASSERT_EQ(stop->stop_closure_size(), 1);
  EXPECT_EQ(stop->stop_closure(0), given->closure(0));
  EXPECT_EQ(stop->stop_attempt(0), 1u);
}

TEST(worker_stream, silent_worker_gets_deadline_exceeded) {
  test_server_options o;
  o.core.heartbeat_timeout = milliseconds(60);
  test_server server(o);
  hand_worker worker(server.address(), make_hello());
  auto const status = worker.finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED) << status.error_message();
  EXPECT_FALSE(worker.has_trailer("muster-final"));
}

TEST(worker_stream, newer_incarnation_takes_the_task_over_for_good) {
  test_server server;
  auto hello = make_hello({"f"}, 1, 1, 1);
  hello.set_index(5);
  hand_worker old(server.address(), hello);
  hello.set_incarnation(2);
  hand_worker young(server.address(), hello);
  EXPECT_EQ(young.welcome.index(), 5u);
  auto const status = old.finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ALREADY_EXISTS) << status.error_message();
  EXPECT_TRUE(old.has_trailer("muster-final"));
}

TEST(worker_stream, server_stop_under_load_ends_all_streams) {
  auto server = std::make_unique<test_server>();
  std::vector<std::unique_ptr<hand_worker>> workers;
  for (std::uint64_t i = 1; i <= 8; ++i)
    workers.push_back(
        std::make_unique<hand_worker>(server->address(), make_hello({"f"}, 4, 256, i)));
  hand_session session(server->address(), {});
  for (std::uint64_t i = 0; i < 20; ++i) session.schedule(i * 1000, 1000);
  std::vector<std::thread> threads;
  for (auto& w : workers)
    threads.emplace_back([&w] {
      while (auto m = w->read_closures()) w->answer(*m);
    });
  session.read_outcomes(2000);
  server->stop();
  for (auto& t : threads) t.join();
  for (auto& w : workers) {
    auto const status = w->finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  }
  EXPECT_EQ(session.finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace muster::test
