#include <gtest/gtest.h>

#include <set>

#include "tests/rpc/hand_worker.hpp"
#include "tests/rpc/test_server.hpp"

namespace muster::test {
namespace {

v1::Open keep_going() {
  v1::Open open;
  open.set_continue_on_error(true);
  return open;
}

grpc::Status status_of(test_server& server, v1::SessionRequest const& first) {
  hand_session session(server.address());
  session.write(first);
  return session.finish();
}

TEST(session_stream, is_opened) {
  test_server_options o;
  o.sessions.server_version = "3.4";
  test_server server(o);
  v1::Open open;
  open.set_queue_capacity(12);
  hand_session session(server.address(), open);
  EXPECT_EQ(session.opened.session(), "job_0000000000000001");
  EXPECT_EQ(session.opened.queue_capacity(), 12u);
  EXPECT_EQ(session.opened.server_version(), "3.4");
}

TEST(session_stream, protocol_errors_name_the_field) {
  test_server server;
  v1::SessionRequest m;
  EXPECT_EQ(status_of(server, m).error_message(), "open: must come first");
  m.mutable_open()->set_cluster("x");
  EXPECT_EQ(status_of(server, m).error_code(), grpc::StatusCode::NOT_FOUND);
  m.mutable_open()->set_cluster("default");
  m.add_function_name(std::string(300, 'n'));
  auto const too_long = status_of(server, m);
  EXPECT_EQ(too_long.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(too_long.error_message().rfind("function_name[0]: ", 0), 0u);
  m.clear_function_name();
  m.add_token(1);
  EXPECT_EQ(status_of(server, m).error_message(), "function: 0 entries for 1 tokens");
  m.add_function(0);
  m.add_args("[]");
  EXPECT_EQ(status_of(server, m).error_message(),
            "function[0]: number 0, the stream has named 0");
}

TEST(session_stream, opens_once) {
  test_server server;
  hand_session session(server.address(), {});
  v1::SessionRequest m;
  m.mutable_open();
  session.write(m);
  EXPECT_EQ(session.finish().error_message(), "open: came a second time");
}

TEST(session_stream, open_has_a_deadline) {
  test_server_options o;
  o.sessions.open_timeout = std::chrono::milliseconds(30);
  test_server server(o);
  hand_session session(server.address());
  EXPECT_EQ(session.finish().error_message(), "no open within 30 ms");
}

TEST(session_stream, unknown_function_waits_for_a_worker_that_has_it) {
  test_server server;
  hand_worker other(server.address(), make_hello({"g"}, 1, 1, 1));
  hand_session session(server.address(), {});
  session.schedule(5, 1);
  EXPECT_TRUE(server.eventually([](core::coordinator& c) {
    return c.overview({}).closures.queued == 1;
  }));
  hand_worker worker(server.address(), make_hello({"f"}, 1, 1, 2));
  auto const given = worker.read_closures();
  ASSERT_TRUE(given);
  worker.answer(*given);
  EXPECT_EQ(session.read_outcomes(1).at(0).token(0), 5u);
}

TEST(session_stream, half_close_ends_with_ok_after_the_last_outcome) {
  test_server server;
  hand_session session(server.address(), {});
  session.schedule(0, 3);
  session.half_close();
  hand_worker worker(server.address(), make_hello({"f"}, 1, 16));
  std::thread serving([&] {
    for (int n = 0; n < 3;) {
      auto const m = worker.read_closures();
      if (!m) break;
      n += m->closure_size();
      worker.answer(*m);
    }
  });
  int outcomes = 0;
  while (auto m = session.read()) outcomes += m->token_size();
  EXPECT_EQ(outcomes, 3);
  EXPECT_TRUE(session.finish().ok());
  serving.join();
}

TEST(session_stream, half_close_of_an_idle_session_ends_at_once) {
  test_server server;
  hand_session session(server.address(), {});
  session.half_close();
  EXPECT_TRUE(session.finish().ok());
}

TEST(session_stream, failure_arrives_with_worker_and_attempt) {
  test_server server;
  hand_worker worker(server.address(), make_hello());
  hand_session session(server.address(), keep_going());
  session.schedule(8, 1);
  auto const given = worker.read_closures();
  v1::WorkerMessage m;
  m.add_closure(given->closure(0));
  m.add_attempt(1);
  m.add_value();
  auto& f = *m.add_failure();
  f.set_kind(v1::USER);
  f.set_type("ValueError");
  f.set_message("bad");
  f.set_traceback("line 1");
  worker.write(m);
  auto const got = session.read_outcomes(1).at(0);
  ASSERT_EQ(got.failure_size(), 1);
  EXPECT_EQ(got.failure(0).type(), "ValueError");
  EXPECT_EQ(got.failure(0).traceback(), "line 1");
  EXPECT_EQ(got.failure(0).worker(), "worker:0");
  EXPECT_EQ(got.failure(0).attempt(), 1u);
}

TEST(session_stream, cancel_gives_every_closure_its_outcome) {
  test_server server;
  hand_session session(server.address(), {});
  session.schedule(0, 2500);
  v1::SessionRequest cancel;
  cancel.set_cancel(true);
  session.write(cancel);
  std::set<std::uint64_t> tokens;
  for (auto const& m : session.read_outcomes(2500)) {
    EXPECT_LE(m.token_size(), 1000);
    EXPECT_EQ(m.failure_size(), m.token_size());
    for (auto const& f : m.failure()) EXPECT_EQ(f.kind(), v1::CANCELLED);
    tokens.insert(m.token().begin(), m.token().end());
  }
  EXPECT_EQ(tokens.size(), 2500u);
}

// Without a worker nothing leaves the queue, so the server must stop reading: what it has not read
// stays with the client, whose writes then no longer return.
TEST(session_stream, full_queue_holds_the_client_back) {
  test_server server;
  v1::Open open;
  open.set_queue_capacity(100);
  open.set_continue_on_error(true);
  hand_session session(server.address(), open);
  constexpr int messages = 200;
  std::string const args = "[\"" + std::string(1000, 'x') + "\"]";
  std::atomic<int> written = 0;
  std::thread writing([&] {
    for (int i = 0; i < messages; ++i, ++written)
      session.schedule(static_cast<std::uint64_t>(i) * 50, 50, 0, args);
  });
  auto const queued = [](core::coordinator& c) { return c.overview({}).closures.queued; };
  ASSERT_TRUE(server.eventually([&](auto& c) { return queued(c) == 100; }));
  EXPECT_LT(written, messages);

  hand_worker worker(server.address(), make_hello({"f"}, 16, 64));
  std::uint64_t queued_max = 0;
  std::thread serving([&] {
    for (int n = 0; n < messages * 50;) {
      auto const m = worker.read_closures();
      if (!m) break;
      n += m->closure_size();
      worker.answer(*m);
      queued_max = std::max(queued_max, server.on_engine([&](server::hub& h) {
        return queued(h.state());
      }));
    }
  });
  int outcomes = 0;
  for (auto const& m : session.read_outcomes(messages * 50)) outcomes += m.token_size();
  EXPECT_EQ(outcomes, messages * 50);
  writing.join();
  serving.join();
  EXPECT_LT(queued_max, 150u);  // the capacity and less than one message
}

// A client that does not read its outcomes: they may pile up to the capacity, then it is not read.
TEST(session_stream, unread_outcomes_hold_the_client_back) {
  test_server server;
  v1::Open open;
  open.set_queue_capacity(64);
  open.set_continue_on_error(true);
  hand_session session(server.address(), open);
  hand_worker worker(server.address(), make_hello({"f"}, 16, 64));
  std::atomic<int> answered = 0;
  constexpr int total = 40'000;
  std::string const value = "\"" + std::string(1000, 'v') + "\"";
  std::thread serving([&] {
    while (answered < total) {
      auto const m = worker.read_closures();
      if (!m) break;
      worker.answer(*m, value);
      answered += m->closure_size();
    }
  });
  std::thread writing([&] {
    for (int i = 0; i < total; i += 32) session.schedule(static_cast<std::uint64_t>(i), 32);
  });
  // The windows of HTTP/2 take some megabytes; then the whole pipeline stands still.
  int before = -1;
  while (before != answered) {
    before = answered;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  EXPECT_LT(answered, total);
  int outcomes = 0;
  for (auto const& m : session.read_outcomes(total)) outcomes += m.token_size();
  EXPECT_EQ(outcomes, total);
  writing.join();
  serving.join();
}

TEST(session_stream, vanished_client_is_cancelled_even_while_it_is_held_back) {
  test_server server;
  v1::Open open;
  open.set_queue_capacity(10);
  auto session = std::make_unique<hand_session>(server.address(), open);
  session->schedule(0, 20);
  ASSERT_TRUE(server.eventually([](auto& c) { return c.overview({}).closures.queued == 20; }));
  session->cancel();
  EXPECT_TRUE(server.eventually([](auto& c) {
    auto const o = c.overview({});
    return o.closures.queued == 0 && o.sessions == 0 && o.closures.cancelled == 20;
  }));
}

TEST(session_stream, vanished_client_stops_what_runs) {
  test_server server;
  hand_worker worker(server.address(), make_hello({"f"}, 1, 1));
  hand_session session(server.address(), {});
  session.schedule(0, 1);
  auto const given = worker.read_closures();
  ASSERT_TRUE(given);
  session.cancel();
  auto const stop = worker.read();
  ASSERT_TRUE(stop);
  ASSERT_EQ(stop->stop_closure_size(), 1);
  EXPECT_EQ(stop->stop_closure(0), given->closure(0));
}

}  // namespace
}  // namespace muster::test
