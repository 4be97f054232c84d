#include <gtest/gtest.h>

#include <fstream>

#include "muster/session.hpp"
#include "server/core/queries/worker_queries.hpp"
#include "tests/support/test_server.hpp"
#include "tests/support/worker_thread.hpp"

namespace muster::test {
namespace {

namespace json = boost::json;

class bundled : public testing::Test {
 protected:
  test_server server;
  worker_thread worker{options_for(server.address())};
  session s{{.server = server.address(), .continue_on_error = true}};

  template <class... Args>
  failure failure_of(std::string_view name, Args const&... args) {
    auto future = s.call<json::value>(name, args...);
    try {
      future.get();
    } catch (closure_error const& e) {
      return e.failure();
    }
    ADD_FAILURE() << name << " returned a value";
    return {};
  }
};

TEST_F(bundled, noop_returns_null) {
  EXPECT_TRUE(s.call<json::value>("muster.noop").get().is_null());
  EXPECT_TRUE(s.call<json::value>("muster.noop", 1, 2).get().is_null());
}

TEST_F(bundled, echo_returns_its_arguments) {
  EXPECT_EQ(s.call<int>("muster.echo", 5).get(), 5);
  EXPECT_EQ(s.call<std::vector<int>>("muster.echo", 5, 6).get(), (std::vector<int>{5, 6}));
}

TEST_F(bundled, fail_fails_with_the_message) {
  auto const f = failure_of("muster.fail", "on purpose");
  EXPECT_EQ(f.kind, failure_kind::user);
  EXPECT_EQ(f.type, "muster.fail");
  EXPECT_EQ(f.message, "on purpose");
  EXPECT_EQ(f.worker, "worker:0");
  EXPECT_EQ(f.attempt, 1u);
}

TEST_F(bundled, failure_text_with_invalid_utf8_is_sanitized) {
  auto const bytes = std::string("[\"a\xFF\"]");  // invalid JSON, so the argument is refused
  std::promise<failure> got;
  s.schedule(s.function("muster.fail"), {bytes},
             [&](outcome const& o) { got.set_value(*o.failure); });
  EXPECT_EQ(got.get_future().get().kind, failure_kind::input);
}

TEST_F(bundled, worker_info_describes_the_worker) {
  auto const info = s.call<json::object>("muster.worker_info").get();
  EXPECT_EQ(info.at("job"), "worker");
  EXPECT_EQ(info.at("index"), 0);
  EXPECT_EQ(info.at("pid"), getpid());
  EXPECT_EQ(info.at("server"), json::value(server.address()));
}

TEST_F(bundled, sleep_sleeps_and_checks_its_argument) {
  auto const start = std::chrono::steady_clock::now();
  s.call<json::value>("muster.sleep", 30).get();
  s.call<json::value>("muster.sleep", "5ms").get();
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(30));
  EXPECT_EQ(failure_of("muster.sleep", -1).kind, failure_kind::input);
  EXPECT_EQ(failure_of("muster.sleep", "long").kind, failure_kind::input);
}

TEST_F(bundled, cancel_ends_running_and_queued_sleeps) {
  std::vector<std::future<json::value>> sleeps;
  for (int i = 0; i < 4; ++i) sleeps.push_back(s.call<json::value>("muster.sleep", 60'000));
  ASSERT_TRUE(server.eventually([](auto& c) { return c.overview({}).closures.running > 0; }));
  auto const start = std::chrono::steady_clock::now();
  s.cancel();
  for (auto& f : sleeps) {
    try {
      f.get();
      ADD_FAILURE();
    } catch (closure_error const& e) {
      EXPECT_EQ(e.failure().kind, failure_kind::cancelled);
    }
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_EQ(s.call<int>("muster.echo", 1).get(), 1);
}

TEST_F(bundled, word_count_returns_an_object) {
  std::string path = "/tmp/muster_bundled_words_XXXXXX";
  close(mkstemp(path.data()));
  std::ofstream(path) << "b a B";
  auto const counts = s.call<json::object>("text.word_count", path).get();
  EXPECT_EQ(json::serialize(counts), R"({"a":1,"b":2})");
  std::remove(path.c_str());
  EXPECT_EQ(failure_of("text.word_count", path).type, "std::system_error");
}

TEST_F(bundled, exec_runs_programs) {
  std::vector<std::string> const argv{"sh", "-c", "cat; echo $X; exit 4"};
  std::map<std::string, std::string> const env{{"X", "y"}};
  auto const end =
      s.call<json::object>("muster.exec", argv, env, nullptr, "in\n", keyword("check", false))
          .get();
  EXPECT_EQ(end.at("exit_code"), 4);
  EXPECT_EQ(end.at("stdout_tail"), "in\ny\n");
  EXPECT_EQ(end.at("stderr_tail"), "");
}

TEST_F(bundled, exec_failure_has_the_exit_status_and_the_end_of_stderr) {
  auto const message = [this](std::string const& script) {
    return failure_of("muster.exec", std::vector<std::string>{"sh", "-c", script}).message;
  };
  EXPECT_EQ(message("exit 4"), "sh: exit status 4");
  EXPECT_EQ(message("echo only >&2; exit 4"), "sh: exit status 4: only");
  EXPECT_EQ(message("seq 7 >&2; exit 1"),
            "sh: exit status 1; standard error ends with:\n3\n4\n5\n6\n7");
  EXPECT_EQ(message("kill -9 $$"), "sh: exit status 137");
  auto const wrong = failure_of("muster.exec", "ls -l");
  EXPECT_EQ(wrong.kind, failure_kind::input);
  EXPECT_EQ(wrong.message,
            "argument 1 (argv): expected an array of strings, such as [\"ls\", \"-l\"]; got "
            "\"ls -l\"");
  EXPECT_EQ(failure_of("muster.exec", std::vector<std::string>()).kind, failure_kind::input);
}

TEST_F(bundled, cancel_ends_a_program) {
  auto end = s.call<json::object>("muster.exec", std::vector<std::string>{"sleep", "60"});
  ASSERT_TRUE(server.eventually([](auto& c) { return c.overview({}).closures.running == 1; }));
  s.cancel();
  EXPECT_THROW(end.get(), closure_error);
}

TEST(bundled_without_exec, exec_is_unavailable_unless_allowed) {
  test_server server;
  worker_thread worker(options_for(server.address()), {}, {});
  ASSERT_TRUE(server.eventually([](auto& c) { return c.overview({}).tasks_connected == 1; }));
  auto const functions = server.on_engine(
      [](server::hub& h) { return h.state().workers().find("worker", 0)->functions; });
  EXPECT_EQ(std::count(functions.begin(), functions.end(), "muster.echo"), 1);
  EXPECT_EQ(std::count(functions.begin(), functions.end(), "muster.exec"), 0);
}

}  // namespace
}  // namespace muster::test
