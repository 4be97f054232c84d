#include <gtest/gtest.h>

#include "server/core/queries/value_queries.hpp"
#include "tests/support/hand_worker.hpp"
#include "tests/support/test_server.hpp"

namespace muster::test {
namespace {

v1::Open resumable() {
  v1::Open open;
  open.set_hold_values(true);
  return open;
}
v1::Open back(v1::Opened const& opened, std::vector<std::uint64_t> const& tokens = {}) {
  v1::Open open;
  open.set_resume(opened.session());
  open.set_resume_incarnation(opened.server_incarnation());
  for (auto const t : tokens) open.add_resume_token(t);
  return open;
}

struct resumable_stream : testing::Test {
  static test_server_options options() {
    test_server_options o;
    o.sessions.server_incarnation = [] { return std::uint64_t{77}; };
    o.core.per_worker_values_max = 2;
    return o;
  }
  test_server server{options()};
  hand_worker worker{server.address(), make_hello({"f"}, 1, 16)};

  void serve(std::string const& value) {
    auto const given = worker.read_closures();
    ASSERT_TRUE(given);
    worker.answer(*given, value);
  }
  void fail(std::string const& message) {
    auto const given = worker.read_closures();
    ASSERT_TRUE(given);
    v1::WorkerMessage m;
    m.add_closure(given->closure(0));
    m.add_attempt(given->attempt(0));
    m.add_value();
    m.add_failure()->set_message(message);
    worker.write(m);
  }
  bool held(std::uint64_t values) {
    return server.eventually(
        [=](core::coordinator const& c) { return c.overview({}).values_held == values; });
  }
};

TEST_F(resumable_stream, outcome_names_the_closure_and_release_drops_it) {
  hand_session s(server.address(), resumable());
  EXPECT_EQ(s.opened.generation(), 1u);
  EXPECT_EQ(s.opened.session_grace_ms(), 60'000u);
  s.schedule(1, 1);
  serve("42");
  auto const got = s.read_outcomes(1).at(0);
  EXPECT_NE(got.closure(0), 0u);
  EXPECT_TRUE(held(1));
  v1::SessionRequest m;
  m.add_release_token(1);
  s.write(m);
  EXPECT_TRUE(held(0));
}

TEST_F(resumable_stream, held_value_becomes_an_argument) {
  hand_session s(server.address(), resumable());
  s.schedule(1, 1);
  serve("42");
  s.read_outcomes(1);
  v1::SessionRequest m;
  m.add_token(2);
  m.add_function(0);
  m.add_args("[1,]");
  m.add_input()->set_token(1);
  m.mutable_input(0)->set_offset(3);
  s.write(m);
  auto const given = worker.read_closures();
  ASSERT_TRUE(given);
  EXPECT_EQ(given->args(0), "[1,42]");
}

TEST_F(resumable_stream, error_and_drain_are_noticed_around_the_outcomes) {
  hand_session s(server.address(), resumable());
  s.schedule(1, 1);
  fail("broken");
  auto const got = s.read_outcomes(1).at(0);
  ASSERT_EQ(got.notice_size(), 2);
  EXPECT_EQ(got.notice(0).kind(), v1::Notice::FAILED);
  EXPECT_EQ(got.notice(0).failure().message(), "broken");
  EXPECT_EQ(got.notice(1).kind(), v1::Notice::DRAINED);
  EXPECT_EQ(got.notice(1).generation(), 1u);
  v1::SessionRequest m;
  m.add_token(2);
  m.add_function(0);
  m.add_args("[]");
  m.set_generation(1);
  s.write(m);
  EXPECT_EQ(s.read_outcomes(1).at(0).failure(0).kind(), v1::CANCELLED);
}

TEST_F(resumable_stream, token_zero_is_refused) {
  hand_session s(server.address(), resumable());
  s.schedule(0, 1);
  EXPECT_EQ(s.finish().error_message(), "token[0]: must not be 0");
}

TEST_F(resumable_stream, survives_a_broken_stream) {
  v1::Opened opened;
  {
    hand_session s(server.address(), resumable());
    opened = s.opened;
    s.schedule(1, 2);
    auto const given = worker.read_closures();
    ASSERT_TRUE(given);
    s.cancel();
    s.finish();
    worker.answer(*given, "7");
    serve("7");
  }
  EXPECT_TRUE(held(2));
  hand_session again(server.address(), back(opened, {1}));
  EXPECT_EQ(again.opened.session(), opened.session());
  EXPECT_TRUE(held(1)) << "the other value was not requested";
  again.schedule(1, 1);
  EXPECT_EQ(again.read_outcomes(1).at(0).value(0), "7");
}

TEST_F(resumable_stream, reconnected_client_gets_the_pending_error) {
  v1::Opened opened;
  {
    hand_session s(server.address(), resumable());
    opened = s.opened;
    s.schedule(1, 1);
    s.half_close();
    fail("missed");
    s.finish();
  }
  hand_session again(server.address(), back(opened, {1}));
  auto const m = again.read();
  ASSERT_TRUE(m);
  ASSERT_EQ(m->notice_size(), 2);
  EXPECT_EQ(m->notice(0).failure().message(), "missed");
  EXPECT_EQ(again.opened.generation(), 2u);
}

TEST_F(resumable_stream, second_stream_takes_the_session_over) {
  hand_session first(server.address(), resumable());
  hand_session second(server.address(), back(first.opened));
  EXPECT_EQ(first.finish().error_code(), grpc::StatusCode::ABORTED);
  second.schedule(1, 1);
  serve("1");
  EXPECT_EQ(second.read_outcomes(1).at(0).value(0), "1");
}

TEST_F(resumable_stream, cannot_be_durable_without_a_disk_or_held_values) {
  auto open = resumable();
  open.set_durable(true);
  hand_session nowhere(server.address(), open);
  auto const refused = nowhere.finish();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_NE(refused.error_message().find("durable: the server stores nothing on disk"),
            std::string::npos)
      << refused.error_message();
  open.set_hold_values(false);
  hand_session fast(server.address(), open);
  auto const bad = fast.finish();
  EXPECT_EQ(bad.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(bad.error_message().find("durable: "), std::string::npos) << bad.error_message();
  EXPECT_NE(bad.error_message().find("hold_values"), std::string::npos) << bad.error_message();
  open = resumable();
  open.set_durable(false);
  hand_session plain(server.address(), open);
  EXPECT_NE(plain.opened.session(), "");
}

TEST_F(resumable_stream, unknown_or_foreign_sessions_are_not_found) {
  v1::Opened nobody;
  nobody.set_session("job_00000000000000ff");
  nobody.set_server_incarnation(77);
  hand_session unknown(server.address(), back(nobody));
  EXPECT_EQ(unknown.finish().error_code(), grpc::StatusCode::NOT_FOUND);
  hand_session s(server.address(), resumable());
  auto other = s.opened;
  other.set_server_incarnation(78);
  hand_session foreign(server.address(), back(other));
  EXPECT_EQ(foreign.finish().error_message(),
            "open.resume: the session belongs to another server, or was lost in a restart without "
            "--data-dir");
  other.set_session("x");
  hand_session nonsense(server.address(), back(other));
  EXPECT_EQ(nonsense.finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(resumable_stream, close_removes_the_session) {
  hand_session s(server.address(), resumable());
  s.schedule(1, 1);
  serve("1");
  EXPECT_TRUE(held(1));
  v1::SessionRequest m;
  m.set_close(true);
  s.write(m);
  EXPECT_TRUE(s.finish().ok());
  EXPECT_TRUE(held(0));
}

v1::SessionRequest builder(std::uint64_t token) {
  v1::SessionRequest m;
  auto& p = *m.add_per_worker();
  p.set_token(token);
  p.set_args("[]");
  return m;
}

TEST_F(resumable_stream, per_worker_values_are_resumed_by_token) {
  v1::Opened opened;
  std::uint64_t kept = 0, dropped = 0;
  {
    hand_session s(server.address(), resumable());
    opened = s.opened;
    s.write(builder(5));
    kept = s.read()->per_worker(0).value();
    s.write(builder(6));
    dropped = s.read()->per_worker(0).value();
    EXPECT_NE(kept, dropped);
    s.cancel();
    s.finish();
  }
  auto open = back(opened);
  open.add_resume_per_worker(5);
  hand_session s(server.address(), open);
  s.write(builder(5));
  EXPECT_EQ(s.read()->per_worker(0).value(), kept) << "requested again";
  EXPECT_TRUE(server.eventually([=](core::coordinator const& c) {
    return c.per_worker().find(core::per_worker_id{kept}) &&
           !c.per_worker().find(core::per_worker_id{dropped});
  }));
  v1::SessionRequest release;
  release.add_release_per_worker(kept);
  s.write(release);
  EXPECT_TRUE(server.eventually(
      [=](core::coordinator const& c) { return !c.per_worker().find(core::per_worker_id{kept}); }));
}

TEST_F(resumable_stream, invalid_builders_are_refused_with_the_field) {
  auto const refusal_of = [this](v1::SessionRequest const& m) {
    hand_session s(server.address(), resumable());
    s.write(m);
    auto const status = s.finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    return status.error_message();
  };
  EXPECT_EQ(refusal_of(builder(0)), "per_worker[0].token: must not be 0");
  auto other = builder(1);
  other.mutable_per_worker(0)->set_function(7);
  EXPECT_EQ(
      refusal_of(other),
      "per_worker[0].function: number 7, but the number of function names on this stream is 1");
}

TEST_F(resumable_stream, per_worker_value_beyond_the_limit_fails_alone) {
  hand_session s(server.address(), resumable());
  s.write(builder(1));
  EXPECT_TRUE(s.read()->per_worker(0).value() != 0);
  s.write(builder(2));
  EXPECT_TRUE(s.read()->per_worker(0).value() != 0);
  s.write(builder(3));
  auto const refused = s.read();
  EXPECT_EQ(refused->per_worker(0).value(), 0u);
  EXPECT_EQ(refused->per_worker(0).failure().kind(), v1::INPUT);
  EXPECT_NE(
      refused->per_worker(0).failure().message().find("2 per-worker values, which is the limit"),
      std::string::npos)
      << refused->per_worker(0).failure().message();
}

}  // namespace
}  // namespace muster::test
