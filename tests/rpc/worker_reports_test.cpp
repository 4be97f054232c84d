#include <gtest/gtest.h>

#include <functional>

#include "server/core/queries/session_queries.hpp"
#include "tests/support/hand_worker.hpp"
#include "tests/support/test_server.hpp"

namespace muster::test {
namespace {

void add_line(v1::WorkerMessage& m, std::uint64_t closure, std::string text,
              std::uint32_t attempt = 1, v1::LogLevel level = v1::LOG_STDOUT) {
  m.add_log_closure(closure);
  m.add_log_attempt(attempt);
  m.add_log_level(level);
  m.add_log_time_ms(1'700'000'000'123);
  m.add_log_text(std::move(text));
}

void add_progress(v1::WorkerMessage& m, std::uint64_t closure, double fraction,
                  std::string text = {}, std::uint32_t attempt = 1) {
  m.add_progress_closure(closure);
  m.add_progress_attempt(attempt);
  m.add_progress_fraction(fraction);
  m.add_progress_text(std::move(text));
}

struct worker_reports : testing::Test {
  test_server server;
  hand_worker worker{server.address(), make_hello({"f"}, 4)};
  core::session_id job{};
  v1::ServerMessage given;

  void SetUp() override {
    job = server.on_engine([](server::hub& h) {
      core::open_session e;
      for (int i = 0; i < 2; ++i)
        e.closures.push_back({h.learn({"f"}).ids.at(0), 0, 0, core::blob("[]")});
      core::session_id id{};
      h.ask(e, [&](core::reply const& r) { id = std::get<core::session_reply>(r.body).session; });
      return id;
    });
    given = worker.read_closures().value();
    ASSERT_EQ(given.closure_size(), 2);
  }
  /// Returns the server's lines, after everything sent before was processed.
  server::log_page page() {
    return server.on_engine([&](server::hub& h) { return h.logs().after({job, {}}, 0, 100); });
  }
  server::log_store::counts counts() {
    return server.on_engine([](server::hub& h) { return h.logs().count(); });
  }
  bool answered() {
    return server.eventually([&](core::coordinator const& c) {
      return c.sessions().find(job)->state == core::job_state::succeeded;
    });
  }
};

TEST_F(worker_reports, arrive_with_all_fields) {
  v1::WorkerMessage m;
  add_line(m, given.closure(1), "hello");
  add_line(m, given.closure(0), "there", 1, v1::LOG_WARNING);
  add_progress(m, given.closure(0), 0.5, "half");
  worker.write(m);
  worker.answer(given);
  ASSERT_TRUE(answered());
  auto const lines = page().lines;
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].text, "hello");
  EXPECT_EQ(core::raw(lines[0].closure), given.closure(1));
  EXPECT_EQ(lines[0].index, 1u);
  EXPECT_EQ(lines[0].attempt, 1u);
  EXPECT_EQ(lines[0].level, server::log_level::standard_output);
  EXPECT_EQ(core::to_unix_ms(lines[0].at), 1'700'000'000'123);
  EXPECT_EQ(*lines[0].worker, "worker:0");
  EXPECT_EQ(lines[1].level, server::log_level::warning);
  auto const p = server.on_engine(
      [&](server::hub& h) { return h.logs().progress(core::closure_id{given.closure(0)}); });
  EXPECT_EQ(p->fraction, 0.5);
  EXPECT_EQ(p->text, "half");
}

TEST_F(worker_reports, are_accepted_in_the_message_of_the_answer) {
  v1::WorkerMessage m;
  add_line(m, given.closure(0), "last words");
  *m.mutable_closure() = given.closure();
  *m.mutable_attempt() = given.attempt();
  m.add_value("1");
  m.add_value("1");
  worker.write(m);
  ASSERT_TRUE(answered());
  EXPECT_EQ(page().lines.size(), 1u);
}

TEST_F(worker_reports, reports_for_closures_of_others_are_dropped_and_counted) {
  hand_worker other(server.address(), make_hello({"f"}, 1, 1, 8));
  v1::WorkerMessage m;
  add_line(m, given.closure(0), "not mine");
  add_line(m, 0, "nobody's");
  add_progress(m, given.closure(0), 0.9);
  other.write(m);
  v1::WorkerMessage wrong_attempt;
  add_line(wrong_attempt, given.closure(0), "not now", 2);
  worker.write(wrong_attempt);
  worker.answer(given);
  ASSERT_TRUE(answered());
  for (int i = 0; i < 5'000 && counts().strays < 4; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(counts().strays, 4u);
  EXPECT_TRUE(page().lines.empty());
  EXPECT_EQ(server.connected(), 2u);  // no worker was disconnected
}

TEST_F(worker_reports, unknown_levels_and_invalid_times_are_tolerated) {
  v1::WorkerMessage m;
  add_line(m, given.closure(0), "new", 1, static_cast<v1::LogLevel>(77));
  m.set_log_time_ms(0, INT64_MAX);
  add_line(m, given.closure(0), "unset");
  m.set_log_time_ms(1, 0);
  add_progress(m, given.closure(0), std::numeric_limits<double>::infinity());
  worker.write(m);
  worker.answer(given);
  ASSERT_TRUE(answered());
  auto const lines = page().lines;
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].level, server::log_level::info);
  for (auto const& l : lines) EXPECT_GT(core::to_unix_ms(l.at), 1'700'000'000'123);
}

TEST_F(worker_reports, columns_of_unequal_length_end_the_stream_with_the_field) {
  struct trial {
    std::function<void(v1::WorkerMessage&)> spoil;
    std::string message;
  };
  std::vector<trial> const trials{
      {[](auto& m) { m.add_log_attempt(1); }, "log_attempt: 2 entries for 1 lines"},
      {[](auto& m) { m.clear_log_level(); }, "log_level: 0 entries for 1 lines"},
      {[](auto& m) { m.add_log_time_ms(1); }, "log_time_ms: 2 entries for 1 lines"},
      {[](auto& m) { m.add_log_text(""); }, "log_text: 2 entries for 1 lines"},
      {[](auto& m) { m.add_progress_attempt(1); }, "progress_attempt: 2 entries for 1 closures"},
      {[](auto& m) { m.clear_progress_fraction(); }, "progress_fraction: 0 entries for 1 closures"},
      {[](auto& m) { m.clear_progress_text(); }, "progress_text: 0 entries for 1 closures"}};
  std::uint64_t incarnation = 100;
  for (auto const& t : trials) {
    hand_worker w(server.address(), make_hello({"g"}, 1, 1, ++incarnation));
    v1::WorkerMessage m;
    add_line(m, given.closure(0), "x");
    add_progress(m, given.closure(0), 0.5);
    t.spoil(m);
    w.write(m);
    auto const status = w.finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(status.error_message(), t.message);
  }
}

}  // namespace
}  // namespace muster::test
