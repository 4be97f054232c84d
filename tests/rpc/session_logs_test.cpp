#include <gtest/gtest.h>

#include <thread>

#include "tests/support/hand_worker.hpp"
#include "tests/support/test_server.hpp"

namespace muster::test {
namespace {

using lines = std::vector<std::string>;

v1::Open with_lines(std::uint64_t after = 0) {
  v1::Open open;
  open.set_hold_values(true);
  open.set_log_lines(true);
  open.set_log_lines_after(after);
  return open;
}

struct session_logs : testing::Test {
  static test_server_options options() {
    test_server_options o;
    o.sessions.server_incarnation = [] { return std::uint64_t{77}; };
    o.core.ended_sessions_max = 1;
    return o;
  }
  test_server server{options()};
  hand_worker worker{server.address(), make_hello({"f"}, 1, 16)};
  std::unique_ptr<v1::CoordinatorService::Stub> stub =
      v1::CoordinatorService::NewStub(channel_to(server.address()));
  v1::ServerMessage given;

  void begin(hand_session& s) {
    s.schedule(1, 1);
    given = worker.read_closures().value();
  }
  /// Sends the lines "0", "1", … of the running closure, each with the prefix `text`.
  void say(int count, std::string const& text = {}, bool answer = false) {
    v1::WorkerMessage m;
    for (int i = 0; i < count; ++i) {
      m.add_log_closure(given.closure(0));
      m.add_log_attempt(1);
      m.add_log_level(v1::LOG_STDOUT);
      m.add_log_time_ms(1'700'000'000'123);
      m.add_log_text(text + std::to_string(i));
    }
    if (answer) {
      m.add_closure(given.closure(0));
      m.add_attempt(1);
      m.add_value("1");
    }
    worker.write(m);
  }
  grpc::Status status;
  v1::GetLogsResponse get(v1::GetLogsRequest const& r) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::GetLogsResponse response;
    status = stub->GetLogs(&context, r, &response);
    return response;
  }
  v1::GetLogsRequest of(hand_session const& s, std::uint64_t closure = 0) const {
    v1::GetLogsRequest r;
    r.set_session(s.opened.session());
    r.set_closure(closure);
    return r;
  }
};

lines texts(google::protobuf::RepeatedPtrField<v1::LogLine> const& of) {
  lines all;
  for (auto const& l : of) all.push_back(l.text());
  return all;
}

TEST_F(session_logs, arrive_with_or_before_the_outcome_of_their_closure) {
  hand_session s(server.address(), with_lines());
  begin(s);
  say(2, "line ", true);
  lines all;
  for (;;) {
    auto const m = s.read();
    ASSERT_TRUE(m);
    for (auto const& l : m->log()) {
      all.push_back(l.text());
      EXPECT_EQ(l.number(), all.size());
      EXPECT_EQ(l.closure(), given.closure(0));
      EXPECT_EQ(l.level(), v1::LOG_STDOUT);
      EXPECT_EQ(l.time_ms(), 1'700'000'000'123);
      EXPECT_EQ(l.worker(), "worker:0");
      EXPECT_EQ(l.function(), "f");
    }
    if (m->token_size() > 0) break;
  }
  EXPECT_EQ(all, (lines{"line 0", "line 1"}));
}

TEST_F(session_logs, are_sent_only_on_request) {
  v1::Open open;
  open.set_hold_values(true);
  hand_session s(server.address(), open);
  begin(s);
  say(2, {}, true);
  auto const m = s.read();
  ASSERT_TRUE(m);
  EXPECT_EQ(m->token_size(), 1);
  EXPECT_EQ(m->log_size(), 0);
}

TEST_F(session_logs, flood_is_rate_limited_and_omissions_are_shown) {
  hand_session s(server.address(), with_lines());
  begin(s);
  auto const began = std::chrono::steady_clock::now();  // the server sends lines from the first on
  for (int i = 0; i < 40; ++i) say(1'000);
  say(1'000, {}, true);
  std::uint64_t last = 0, got = 0;
  bool told = false;
  while (last < 41'000) {
    auto const m = s.read();
    ASSERT_TRUE(m);
    EXPECT_LE(m->log_size(), 500);
    told |= m->token_size() > 0;
    for (auto const& l : m->log()) {
      EXPECT_GT(l.number(), last);
      last = l.number(), ++got;
    }
    if (m->log_size() > 0) {
      EXPECT_GE(m->log_last(), last);
    }
  }
  auto const windows = (std::chrono::steady_clock::now() - began) / std::chrono::milliseconds(100);
  EXPECT_LE(got, 500u * static_cast<std::uint64_t>(windows + 2));
  EXPECT_GE(got, 5'000u) << "the kept lines of a closure arrive";
  EXPECT_LT(got, 41'000u);
  EXPECT_TRUE(told);
}

TEST_F(session_logs, client_that_does_not_read_uses_no_extra_memory) {
  hand_session s(server.address(), with_lines());
  begin(s);
  std::string const text(1'000, 'x');
  for (int i = 0; i < 200; ++i) say(100, text);
  auto const closure = core::closure_id{given.closure(0)};
  server::log_store::counts counts;
  while ((counts = server.on_engine([](server::hub& h) { return h.logs().count(); })).lines <
         20'000)
    std::this_thread::yield();
  EXPECT_LE(counts.bytes, std::size_t{2} << 20);
  auto const page = server.on_engine([&](server::hub& h) {
    return h.logs().newest({*h.logs().job_of(closure), closure}, 1);
  });
  EXPECT_EQ(page.lines.at(0).seq, 20'000u);
  EXPECT_GT(page.dropped, 0u);
}

TEST_F(session_logs, continue_after_a_broken_stream) {
  v1::Opened opened;
  {
    hand_session s(server.address(), with_lines());
    opened = s.opened;
    begin(s);
    say(3);
    int got = 0;
    while (got < 3) got += s.read().value().log_size();
    s.cancel();
    s.finish();
  }
  say(3, "again ");
  auto open = with_lines(2);
  open.set_resume(opened.session());
  open.set_resume_incarnation(opened.server_incarnation());
  open.add_resume_token(1);
  hand_session again(server.address(), open);
  lines all;
  while (all.size() < 4) {
    auto const m = again.read();
    ASSERT_TRUE(m);
    for (auto const& l : m->log()) all.push_back(l.text());
  }
  EXPECT_EQ(all, (lines{"2", "again 0", "again 1", "again 2"}));
}

TEST_F(session_logs, positions_of_an_earlier_server_are_ignored) {
  hand_session s(server.address(), with_lines(1'000'000));
  begin(s);
  say(1, {}, true);
  EXPECT_EQ(s.read().value().log_size(), 1);
}

TEST_F(session_logs, last_message_has_the_remaining_lines_and_their_number) {
  hand_session s(server.address(), with_lines());
  begin(s);
  for (int i = 0; i < 6; ++i) say(1'000);
  say(1, {}, true);
  v1::SessionRequest m;
  m.set_close(true);
  std::uint64_t last = 0, newest = 0;
  bool asked = false;
  for (;;) {
    auto const got = s.read();
    if (!got) break;
    for (auto const& l : got->log()) last = l.number();
    newest = std::max(newest, got->log_last());
    if (got->token_size() > 0 && !std::exchange(asked, true)) s.write(m);
  }
  EXPECT_TRUE(s.finish().ok());
  EXPECT_EQ(newest, 6'001u);
  EXPECT_LE(last, newest);
}

TEST_F(session_logs, last_message_of_a_half_closed_stream_has_remaining_lines) {
  v1::Open open;
  open.set_log_lines(true);
  hand_session s(server.address(), open);
  begin(s);
  s.half_close();
  say(1'000, {}, true);
  int got = 0;
  std::uint64_t newest = 0;
  while (auto const m = s.read()) got += m->log_size(), newest = std::max(newest, m->log_last());
  EXPECT_TRUE(s.finish().ok());
  EXPECT_EQ(got, 1'000) << "two windows' worth";
  EXPECT_EQ(newest, 1'000u);
}

TEST_F(session_logs, last_message_of_a_waiting_session_has_remaining_lines) {
  hand_session s(server.address(), with_lines());
  begin(s);
  say(1'000, {}, true);
  while (s.read().value().token_size() == 0) {
  }
  s.half_close();
  std::uint64_t newest = 0;
  while (auto const m = s.read()) newest = std::max(newest, m->log_last());
  EXPECT_TRUE(s.finish().ok());
  EXPECT_EQ(newest, 1'000u);
  auto again = with_lines(1'000);
  again.set_resume(s.opened.session());
  again.set_resume_incarnation(s.opened.server_incarnation());
  hand_session resumed(server.address(), again);
  EXPECT_EQ(resumed.opened.session(), s.opened.session());
}

TEST_F(session_logs, are_returned_by_call_in_pages) {
  hand_session s(server.address(), with_lines());
  begin(s);
  say(3, {}, true);
  while (s.read().value().token_size() == 0) {
  }
  auto r = of(s, given.closure(0));
  EXPECT_EQ(texts(get(r).line()), (lines{"0", "1", "2"}));
  r.set_limit(2);
  auto const first = get(r);
  EXPECT_EQ(texts(first.line()), (lines{"0", "1"}));
  EXPECT_EQ(first.last(), 3u);
  EXPECT_EQ(first.dropped(), 0u);
  r.set_after(first.line(1).number());
  EXPECT_EQ(texts(get(r).line()), lines{"2"});
  EXPECT_EQ(get(of(s)).line_size(), 3);
  auto by_token = of(s);
  by_token.set_token(1);
  EXPECT_EQ(get(by_token).line_size(), 3);
  by_token.set_token(2);
  EXPECT_EQ(get(by_token).line_size(), 0) << "the session has no closure with this token";
  EXPECT_TRUE(status.ok());
}

TEST_F(session_logs, invalid_requests_name_the_field) {
  hand_session s(server.address(), with_lines());
  v1::GetLogsRequest r;
  get(r);
  EXPECT_EQ(status.error_message(), "session: '' is not a session id");
  r = of(s);
  r.set_limit(1'001);
  get(r);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "limit: 1001, the limit is 1000");
  r = {};
  r.set_session("job_00000000000000ff");
  get(r);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(session_logs, lines_of_another_session_are_refused) {
  hand_session s(server.address(), with_lines()), other(server.address(), with_lines());
  begin(s);
  say(1, {}, true);
  while (s.read().value().token_size() == 0) {
  }
  EXPECT_EQ(get(of(other, given.closure(0))).line_size(), 0);
  EXPECT_EQ(get(of(s, given.closure(0))).line_size(), 1);
}

TEST_F(session_logs, are_kept_while_the_ended_session_is_listed) {
  v1::SessionRequest close;
  close.set_close(true);
  auto const end_one = [&](hand_session& s) {
    begin(s);
    say(2, {}, true);
    while (s.read().value().token_size() == 0) {
    }
    s.write(close);
    EXPECT_TRUE(s.finish().ok());
  };
  hand_session first(server.address(), with_lines());
  end_one(first);
  auto const closure = given.closure(0);
  EXPECT_EQ(get(of(first, closure)).line_size(), 2);
  hand_session second(server.address(), with_lines());
  end_one(second);
  EXPECT_EQ(get(of(second)).line_size(), 2);
  get(of(first, closure));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), first.opened.session() + " has ended and was removed");
  EXPECT_EQ(server.on_engine([](server::hub& h) { return h.logs().count().closures; }), 1u);
}

}  // namespace
}  // namespace muster::test
