#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "server/core/texts/explanation_texts.hpp"
#include "tests/support/hand_worker.hpp"
#include "tests/support/test_server.hpp"

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

TEST(session_stream, open_is_answered) {
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

TEST(session_stream, can_require_a_worker_with_the_function) {
  test_server server;
  auto open = keep_going();
  open.set_require_function(true);
  hand_session session(server.address(), open);
  session.schedule(1, 1);
  auto const all = session.read_outcomes(1);
  ASSERT_EQ(all.size(), 1u);
  ASSERT_EQ(all[0].failure_size(), 1);
  EXPECT_EQ(all[0].failure(0).kind(), v1::STALE_HANDLE);
  EXPECT_EQ(all[0].failure(0).message(), core::text_of_missing_function("f"));
}

TEST(session_stream, protocol_errors_name_the_field) {
  test_server server;
  v1::SessionRequest m;
  EXPECT_EQ(status_of(server, m).error_message(), "open: must be the first message");
  m.mutable_open()->set_cluster("x");
  EXPECT_EQ(status_of(server, m).error_code(), grpc::StatusCode::NOT_FOUND);
  m.mutable_open()->set_cluster("default");
  m.add_function_name(std::string(300, 'n'));
  auto const too_long = status_of(server, m);
  EXPECT_EQ(too_long.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(too_long.error_message().rfind("function_name[0]: ", 0), 0u);
  m.clear_function_name();
  m.add_token(1);
  EXPECT_EQ(status_of(server, m).error_message(), "function: 0 entries for 1 closures");
  m.add_function(0);
  m.add_args("[]");
  EXPECT_EQ(status_of(server, m).error_message(),
            "function[0]: number 0, but the number of function names on this stream is 0");
}

TEST(session_stream, second_open_is_refused) {
  test_server server;
  hand_session session(server.address(), {});
  v1::SessionRequest m;
  m.mutable_open();
  session.write(m);
  EXPECT_EQ(session.finish().error_message(), "open: must be sent only once");
}

TEST(session_stream, open_has_a_deadline) {
  test_server_options o;
  o.sessions.first_message_timeout = std::chrono::milliseconds(30);
  test_server server(o);
  hand_session session(server.address());
  EXPECT_EQ(session.finish().error_message(), "received no open within 30 ms");
}

TEST(session_stream, unknown_function_waits_for_a_worker_that_has_it) {
  test_server server;
  hand_worker other(server.address(), make_hello({"g"}, 1, 1, 1));
  hand_session session(server.address(), {});
  session.schedule(5, 1);
  EXPECT_TRUE(server.eventually(
      [](core::coordinator const& c) { return c.overview({}).closures.queued == 1; }));
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
  f.set_exception(std::string("\x80\x05\0", 3));
  worker.write(m);
  auto const got = session.read_outcomes(1).at(0);
  ASSERT_EQ(got.failure_size(), 1);
  EXPECT_EQ(got.failure(0).type(), "ValueError");
  EXPECT_EQ(got.failure(0).traceback(), "line 1");
  EXPECT_EQ(got.failure(0).exception(), std::string("\x80\x05\0", 3));
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

}  // namespace
}  // namespace muster::test
