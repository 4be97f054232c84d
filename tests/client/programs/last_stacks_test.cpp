#include "client/programs/last_stacks.hpp"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "tests/client/ranks_fixture.hpp"

namespace muster::test {
namespace last_stacks_cases {

using clock = std::chrono::steady_clock;

// Ignores SIGTERM, and creates a file named after its rank when it is ready.
std::string stubborn(std::string const& up) {
  return "import os, signal, time\n"
         "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
         "def hangs_here():\n"
         "    print('almost', flush=True)\n"
         "    open('" +
         up +
         "' + os.environ['RANK'], 'w').close()\n"
         "    time.sleep(1000)\n"
         "hangs_here()\n";
}

TEST_F(ranks_of_a_worker, killed_ranks_leave_their_stacks) {
  std::ofstream(file("hang.py")) << stubborn(file("up"));
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
    s->Write(start(4, "case $RANK in 3) trap 'exit 3' TERM; : > " + file("up3") +
                          "; while :; do sleep 0.05; done ;; esac; exec python3 " +
                          file("hang.py")));
    heard h(s);
    ASSERT_TRUE(h.until(4, 0));
    for (auto const* up : {"up0", "up1", "up2", "up3"}) ASSERT_TRUE(there(file(up)));
    auto const asked = clock::now();
    s->Write(stop(1000));
    ASSERT_TRUE(h.until(4, 4));
    auto const took = clock::now() - asked;
    EXPECT_GE(took, 990ms) << "the ranks had the whole grace period";
    EXPECT_LT(took, 10s) << "and not much more";
    EXPECT_EQ(h.ends[3].exit_status(), 3u);
    std::vector<std::uint32_t> ranks;  // sent with the exit statuses, in as many messages as these
    for (auto const& all : h.last_stacks) {
      EXPECT_EQ(all.program(), 7u);
      EXPECT_EQ(all.attempt(), 1u);
      ASSERT_EQ(all.stack_size(), 1) << "equal stacks are listed once";
      ranks.insert(ranks.end(), all.stack(0).rank().begin(), all.stack(0).rank().end());
      EXPECT_EQ(all.stack(0).state(), v1::STACK_TAKEN);
      EXPECT_NE(all.stack(0).text().find("line 6 in hangs_here"), std::string::npos)
          << all.stack(0).text();
    }
    std::sort(ranks.begin(), ranks.end());
    EXPECT_EQ(ranks, (std::vector<std::uint32_t>{0, 1, 2})) << "3 has ended by itself";
    EXPECT_EQ(h.ends[0].stdout_size(), 1);
    EXPECT_EQ(h.ends[0].stdout(0), "almost");
  }});
}

TEST_F(ranks_of_a_worker, ranks_killed_without_grace_leave_their_stacks) {
  std::ofstream(file("hang.py")) << stubborn(file("up"));
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
           s->Write(start(1, "exec python3 " + file("hang.py")));
           heard h(s);
           ASSERT_TRUE(h.until(1, 0));
           ASSERT_TRUE(there(file("up0")));
           auto const asked = clock::now();
           s->Write(stop(0));
           ASSERT_TRUE(h.until(1, 1));
           EXPECT_LT(clock::now() - asked, 10s);
           ASSERT_EQ(h.last_stacks.size(), 1u);
           EXPECT_EQ(h.last_stacks[0].stack(0).state(), v1::STACK_TAKEN);
         },
         [&](worker_stream* s, v1::WorkerMessage const& hello) {
           EXPECT_EQ(hello.hello().programs().held_size(), 1);
           heard h(s);
           while (h.last_stacks.empty()) ASSERT_TRUE(h.next());
           EXPECT_EQ(h.last_stacks[0].stack(0).rank(0), 0u) << "reported again on another stream";
         }});
}

TEST_F(ranks_of_a_worker, ranks_killed_at_the_end_of_the_lease_leave_their_stacks) {
  program_options o;
  o.lease = 2s;
  std::ofstream(file("hang.py")) << stubborn(file("up"));
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
          s->Write(start(1, "exec python3 " + file("hang.py")));
          heard h(s);
          ASSERT_TRUE(h.until(1, 0));
          ASSERT_TRUE(there(file("up0")));
          h.answers = false;
          ASSERT_TRUE(h.until(1, 1));
          EXPECT_TRUE(h.ends[0].lease_ran_out());
          ASSERT_EQ(h.last_stacks.size(), 1u);
          EXPECT_EQ(h.last_stacks[0].stack(0).state(), v1::STACK_TAKEN);
        }},
        o);
}

struct last_stacks_test : testing::Test {
  void run(std::function<void()> first) {
    engine.post([this, first = std::move(first)] {
      last.begin(engine, [] {});
      first();
    });
    engine.run();
    last.close();
  }
  static v1::RankEnded killed() {
    v1::RankEnded e;
    e.set_signal(SIGKILL);
    e.set_stopped(true);
    return e;
  }

  temporary_directory directory;
  coro::engine_context engine{std::make_unique<grpc::CompletionQueue>()};
  stack_files files{
      directory.path(), directory / "works", {}, default_stack_signal(), {{STACK_READER}, {}}};
  last_stacks last{files};
};

TEST_F(last_stacks_test, stacks_of_the_oldest_attempts_are_dropped_beyond_the_limit) {
  constexpr std::uint32_t attempts = last_stacks::attempts_max + 2;
  run([this] {
    last_stacks::pids all;
    for (std::uint32_t i = 1; i <= attempts; ++i) all[{7, i, 0}] = ::getpid();
    last.take_now(all, [this] { engine.close(); });
  });
  for (std::uint32_t i = 1; i <= attempts; ++i) last.ended({7, i, 0}, killed());
  std::set<std::uint32_t> told;
  while (last.reports()) {
    v1::RankReports to;
    last.report(to);
    for (auto const& s : to.last_stacks()) told.insert(s.attempt());
  }
  EXPECT_EQ(told.size(), last_stacks::attempts_max);
  EXPECT_FALSE(told.contains(1)) << "the oldest";
}

TEST_F(last_stacks_test, oldest_pending_kill_is_skipped_beyond_the_limit) {
  int asked = 0;
  run([&] {
    auto const soon = clock::now() + last_stacks::lead + 100ms;
    last.expect(soon, last_stacks::reason::order, [&] {
      ADD_FAILURE() << "this kill should have been skipped";
      return last_stacks::pids();
    });
    for (std::size_t i = 0; i < last_stacks::expected_max; ++i)
      last.expect(soon, last_stacks::reason::order, [&] {
        if (++asked == last_stacks::expected_max) engine.close();
        return last_stacks::pids();
      });
  });
  EXPECT_EQ(asked, static_cast<int>(last_stacks::expected_max));
}

TEST_F(last_stacks_test, renewed_lease_cancels_taking_stacks) {
  bool first = false;
  run([&] {
    last.expect(clock::now() + last_stacks::lead + 50ms, last_stacks::reason::lease, [&] {
      first = true;
      return last_stacks::pids();
    });
    last.expect(clock::now() + last_stacks::lead + 100ms, last_stacks::reason::lease, [&] {
      engine.close();
      return last_stacks::pids();
    });
  });
  EXPECT_FALSE(first);
}

}  // namespace last_stacks_cases
}  // namespace muster::test
