#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "tests/e2e/cli/run_words.hpp"

namespace muster::e2e {
namespace {

struct run_stop : testing::TestWithParam<int> {
  cluster c;
};

TEST_P(run_stop, signal_reaches_every_task_and_their_exit_status_counts) {
  auto& run = c.spawn(sh({"--nproc", "2", "--no-prefix"},
                         "trap 'echo saved; exit 5' INT TERM HUP; echo up$RANK; "
                         "while :; do sleep 0.1; done"));
  ASSERT_TRUE(said(run, "up0") && said(run, "up1"));
  run.signal(GetParam());
  EXPECT_EQ(run.wait(), 5) << run.errors();
  EXPECT_EQ(run.output().find("saved") == run.output().rfind("saved"), false) << run.output();
}

INSTANTIATE_TEST_SUITE_P(signals, run_stop, testing::Values(SIGINT, SIGTERM, SIGHUP),
                         [](auto const& p) { return std::string(::sigabbrev_np(p.param)); });

struct run_end : testing::Test {
  cluster c;
};

TEST_F(run_end, exits_with_0_when_tasks_exit_with_0_after_sigterm) {
  auto& run = c.spawn(sh({}, "trap 'exit 0' TERM; echo up; while :; do sleep 0.1; done"));
  ASSERT_TRUE(said(run, "up"));
  run.signal(SIGTERM);
  EXPECT_EQ(run.wait(), 0) << run.errors();
}

TEST_F(run_end, task_that_ignores_sigterm_is_killed_after_the_grace_period) {
  auto& run = c.spawn(sh({"--grace", "300ms"}, "trap '' TERM; echo up; while :; do sleep 1; done"));
  ASSERT_TRUE(said(run, "up"));
  run.signal(SIGTERM);
  EXPECT_EQ(run.wait(), 128 + SIGKILL) << run.errors();
}

TEST_F(run_end, second_sigint_kills_the_tasks) {
  auto& run =
      c.spawn(sh({"--grace", "1h"}, "trap 'echo no' INT; echo up; while :; do sleep 0.1; done"));
  ASSERT_TRUE(said(run, "up"));
  run.signal(SIGINT);
  ASSERT_TRUE(said(run, "no"));
  run.signal(SIGINT);
  EXPECT_EQ(run.wait(), 128 + SIGKILL) << run.errors();
}

TEST_F(run_end, two_signals_end_the_run_even_if_its_output_is_not_read) {
  auto const path = c.file("fifo");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  int const reader = ::open(path.c_str(), O_RDWR);  // and never reads
  spawn_options o;
  auto const up = c.file("up").string();
  o.arguments = sh({"--grace", "1h"}, "trap '' INT; echo $$ > " + up + "; yes");
  o.arguments.insert(o.arguments.begin(), MUSTER_BINARY);
  o.output = path;
  o.errors = c.file("errors");
  process run(std::move(o));
  ASSERT_TRUE(await([&] { return number_in(up) != 0; }));
  run.signal(SIGINT);
  EXPECT_FALSE(run.wait(300ms));
  run.signal(SIGINT);
  EXPECT_TRUE(run.wait());
  EXPECT_FALSE(alive(number_in(up)));
  ::close(reader);
}

TEST_F(run_end, sigusr1_is_forwarded_and_does_not_stop_the_run) {
  auto& run = c.spawn(sh({"--no-prefix"},
                         "trap 'echo usr1; exit 0' USR1; echo up; "
                         "while :; do sleep 0.1; done"));
  ASSERT_TRUE(said(run, "up"));
  run.signal(SIGUSR1);
  EXPECT_EQ(run.wait(), 0) << run.errors();
  EXPECT_EQ(run.output(), "up\nusr1\n");
}

TEST_F(run_end, ignores_sighup_under_nohup) {
  auto& run = c.spawn_behind({"/usr/bin/nohup"},
                             sh({}, "echo up; kill -HUP $$; echo still; exec sleep 1000"));
  ASSERT_TRUE(said(run, "still"));
  run.signal(SIGHUP);
  EXPECT_FALSE(run.wait(300ms));
  run.signal(SIGTERM);
  EXPECT_EQ(run.wait(), 128 + SIGTERM) << run.errors();
}

TEST_F(run_end, run_can_be_stopped_between_two_starts) {
  auto& run = c.spawn(sh({"--max-restarts", "1000000"}, "exit 3"));
  ASSERT_TRUE(run.says("(3 of "));
  run.signal(SIGTERM);
  EXPECT_EQ(run.wait(), 128 + SIGTERM) << run.errors();
}

// The cluster file is a pipe, so the lookup blocks until something writes to it.
struct run_lookup : run_end {
  std::string const pipe = c.file("pipe").string(), started = c.file("started").string();
  process* run = nullptr;

  void SetUp() override {
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    run = &c.spawn(sh({"--cluster-file", pipe}, "echo > " + started));
    ASSERT_TRUE(await([&] { return first_child_of(run->pid()) != 0; }));
  }
  // Sends a signal, and waits until the supervisor has forwarded it and sleeps again.
  void signal(int number) const {
    run->signal(number);
    auto const status = "/proc/" + std::to_string(run->pid()) + "/status";
    EXPECT_TRUE(await([&] {
      return read_file(status).find("ShdPnd:\t0000000000000000") != std::string::npos &&
             process_state(run->pid()) == 'S';
    }));
  }
};

TEST_F(run_lookup, starts_no_task_after_a_signal) {
  signal(SIGUSR1);
  signal(SIGTERM);
  std::ofstream(pipe) << R"({"worker": ["127.0.0.1:1"]})";
  EXPECT_EQ(run->wait(), 128 + SIGTERM) << run->errors();
  EXPECT_NE(run->errors().find("SIGTERM: stopped before any task was started"), std::string::npos)
      << run->errors();
  EXPECT_FALSE(std::filesystem::exists(started));
}

TEST_F(run_lookup, second_signal_ends_the_run_at_once) {
  signal(SIGINT);
  EXPECT_TRUE(run->running());
  run->signal(SIGINT);
  EXPECT_EQ(run->wait(), 128 + SIGKILL) << run->errors();
  EXPECT_FALSE(std::filesystem::exists(started));
}

TEST_F(run_end, leftover_processes_of_tasks_end_with_the_run) {
  auto const pid = c.file("pid").string();
  auto const r = c.run(sh({}, "sleep 1000 & echo $! > " + pid +
                                  ".group; "
                                  "setsid sh -c 'echo $$ > " +
                                  pid +
                                  ".session; exec sleep 1000' & "
                                  "while [ ! -s " +
                                  pid + ".session ]; do sleep 0.05; done"));
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_FALSE(alive(number_in(pid + ".group")));
  EXPECT_FALSE(alive(number_in(pid + ".session"))) << "a session of its own";
}

TEST_F(run_end, suspended_task_is_stopped) {
  auto& run = c.spawn(sh({"--grace", "1h"}, "echo up; kill -STOP $$"));
  ASSERT_TRUE(said(run, "up"));
  run.signal(SIGTERM);
  EXPECT_EQ(run.wait(), 128 + SIGTERM) << run.errors();
}

}  // namespace
}  // namespace muster::e2e
