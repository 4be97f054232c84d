#include <gtest/gtest.h>

#include <latch>

#include "muster/session.hpp"
#include "server/core/queries/session_queries.hpp"
#include "tests/support/test_server.hpp"
#include "tests/support/worker_thread.hpp"

namespace muster::test {
namespace {

using list = std::vector<std::string>;

struct reports_test : testing::Test {
  test_server server;

  /// Returns the lines of the n-th closure that a session scheduled.
  list lines(std::uint64_t closure) {
    return server.on_engine([&](server::hub& h) {
      list out;
      auto const job = h.logs().job_of(core::closure_id{closure});
      if (!job) return out;
      for (auto const& l : h.logs().after({*job, core::closure_id{closure}}, 0, 10'000).lines)
        out.push_back(std::string(name(l.level)) + " " + l.text);
      return out;
    });
  }
  std::optional<server::closure_progress> progress(std::uint64_t closure) {
    return server.on_engine(
        [&](server::hub& h) { return h.logs().progress(core::closure_id{closure}); });
  }
  bool eventually_progress(std::uint64_t closure, double fraction) {
    return server.eventually([&](core::coordinator const&) { return true; }) && [&] {
      for (int i = 0; i < 5'000; ++i) {
        if (auto const p = progress(closure); p && p->fraction == fraction) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      return false;
    }();
  }
};

TEST_F(reports_test, lines_and_progress_arrive_while_the_function_runs) {
  std::latch go_on(1);
  std::atomic<std::uint64_t> closure = 0;
  worker_thread worker(options_for(server.address()), [&](muster::worker& w) {
    w.function("work", [&](context& c) {
      c.log("begins");
      c.log(log_level::warning, "two\nlines");
      c.progress(0.25, "a quarter");
      closure = c.closure();
      go_on.wait();
      c.log(log_level::error, "ends");
      c.progress(1, "done");
    });
  });
  session s({.server = server.address()});
  auto done = s.call<void>("work");
  while (closure == 0) std::this_thread::yield();
  EXPECT_TRUE(eventually_progress(closure, 0.25));
  EXPECT_EQ(lines(closure), (list{"info begins", "warning two", "warning lines"}));
  EXPECT_EQ(progress(closure)->text, "a quarter");
  go_on.count_down();
  done.get();
  EXPECT_EQ(lines(closure), (list{"info begins", "warning two", "warning lines", "error ends"}));
  EXPECT_EQ(progress(closure)->text, "done");
}

TEST_F(reports_test, quick_function_can_log) {
  std::atomic<std::uint64_t> closure = 0;
  worker_thread worker(options_for(server.address()), [&](muster::worker& w) {
    w.quick_function("quick", [&](context& c) {
      c.log("quickly");
      c.progress(1);
      closure = c.closure();
    });
  });
  session s({.server = server.address()});
  s.call<void>("quick").get();
  EXPECT_EQ(lines(closure), list{"info quickly"});
  EXPECT_EQ(progress(closure)->fraction, 1);
}

TEST_F(reports_test, flood_of_lines_never_blocks_and_dropped_lines_are_counted) {
  std::atomic<std::uint64_t> closure = 0;
  constexpr int flood = 200'000;
  worker_thread worker(options_for(server.address()), [&](muster::worker& w) {
    w.function("flood", [&](context& c) {
      closure = c.closure();
      for (int i = 0; i < flood; ++i) c.log(std::to_string(i));
    });
  });
  session s({.server = server.address()});
  s.call<void>("flood").get();
  auto const page = server.on_engine([id = core::closure_id{closure.load()}](server::hub& h) {
    return h.logs().after({*h.logs().job_of(id), id}, 0, 100'000);
  });
  // Each number arrived in order or is part of a count. This checks the lines still stored.
  ASSERT_FALSE(page.lines.empty());
  EXPECT_LE(page.lines.size(), server::log_limits{}.closure_lines_max);
  std::optional<long> last;
  long skipped = 0;
  for (auto const& l : page.lines) {
    if (l.level == server::log_level::dropped) {
      skipped += std::stol(l.text.substr(l.text.find(' ') + 1));
      continue;
    }
    auto const n = std::stol(l.text);
    if (last) {
      ASSERT_EQ(n, *last + skipped + 1);
    }
    last = n;
    skipped = 0;
  }
  EXPECT_EQ(*last + skipped, flood - 1);
}

TEST_F(reports_test, lines_of_earlier_attempts_are_kept_and_marked) {
  std::atomic<std::uint64_t> closure = 0;
  std::atomic<int> runs = 0;
  auto const add = [&](muster::worker& w) {
    w.function("twice", [&](context& c) {
      closure = c.closure();
      c.log("attempt " + std::to_string(c.attempt()));
      if (++runs == 1) throw std::runtime_error("once");
    });
  };
  worker_thread worker(options_for(server.address()), add);
  auto const job = server.on_engine([](server::hub& h) {
    core::open_session e;
    core::closure_spec c;
    c.function = h.learn({"twice"}).ids.at(0);
    c.args = core::blob("[]");
    auto extras = std::make_shared<core::closure_extras>();
    extras->options.max_retries = 1;
    extras->options.retry_initial = std::chrono::milliseconds(1);
    c.extras = extras;
    e.closures.push_back(c);
    core::session_id id{};
    h.ask(e, [&](core::reply const& r) { id = std::get<core::session_reply>(r.body).session; });
    return id;
  });
  ASSERT_TRUE(server.eventually([&](core::coordinator const& c) {
    return c.sessions().find(job)->state == core::job_state::succeeded;
  }));
  auto const page = server.on_engine([&](server::hub& h) {
    return h.logs().after({job, {}}, 0, 10);
  });
  ASSERT_EQ(page.lines.size(), 2u);
  EXPECT_EQ(page.lines[0].text, "attempt 1");
  EXPECT_EQ(page.lines[0].attempt, 1u);
  EXPECT_EQ(page.lines[1].attempt, 2u);
  EXPECT_EQ(*page.lines[1].worker, "worker:0");
  EXPECT_EQ(page.lines[1].index, 0u);
}

TEST_F(reports_test, exec_streams_the_output_of_its_program) {
  worker_thread worker(options_for(server.address()));
  session s({.server = server.address(), .continue_on_error = true});
  std::vector<std::string> const argv{"sh", "-c", "echo one; echo two >&2; exec sleep 60"};
  auto end = s.call<boost::json::value>("muster.exec", argv);
  ASSERT_TRUE(server.eventually([&](core::coordinator const&) { return true; }));
  server::log_page page;
  for (int i = 0; i < 5'000 && page.lines.size() < 2; ++i) {
    page = server.on_engine([](server::hub& h) {
      return h.logs().after({core::session_id{1}, {}}, 0, 10);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_EQ(page.lines.size(), 2u);
  std::set<std::string> got;
  for (auto const& l : page.lines) got.insert(std::string(name(l.level)) + " " + l.text);
  EXPECT_EQ(got, (std::set<std::string>{"stdout one", "stderr two"}));
  s.cancel();
  EXPECT_THROW(end.get(), closure_error);
}

}  // namespace
}  // namespace muster::test
