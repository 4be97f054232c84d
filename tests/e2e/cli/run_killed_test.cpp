#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "tests/e2e/cli/run_words.hpp"

namespace muster::e2e {
namespace {

// A run whose task leaves a child, a session, and a daemonized process in a session with children
// of its own.
struct run_killed : testing::Test {
  cluster c;
  std::string const pid = c.file("pid").string();

  process& start() {
    auto& run =
        c.spawn(sh({"--nproc", "2"},
                   "sleep 1000 & echo $! > P.child; "
                   "setsid sh -c 'echo $$ > P.session; exec sleep 1000' & "
                   "(setsid sh -c '(sh -c \"sleep 1000 & echo \\$! > P.grandchild; echo \\$\\$ > "
                   "P.orphan; wait\" &)' &) ; "
                   "echo $$ > P.task; trap '' TERM; while :; do sleep 1; done"));
    for (auto const& name : left_behind())
      EXPECT_TRUE(await([&] { return number_in(name) != 0; })) << name << run.errors();
    return run;
  }

  words left_behind() const {
    words all;
    for (auto const* rank : {"0", "1"})
      for (auto const* what : {"task", "child", "session", "orphan", "grandchild"})
        all.push_back(pid + "." + rank + "." + what);
    return all;
  }

  // Replaces `P.` in the script by the path of the rank's file.
  words sh(words flags, std::string script) const {
    for (std::size_t at = 0; (at = script.find("P.", at)) != std::string::npos; at += pid.size())
      script.replace(at, 2, pid + ".$RANK.");
    return e2e::sh(std::move(flags), script);
  }

  void expect_gone() const {
    for (auto const& name : left_behind())
      EXPECT_TRUE(await([&] { return !alive(number_in(name)); })) << name;
  }
};

TEST_F(run_killed, no_process_survives_the_supervisor) {
  auto& run = start();
  run.signal(SIGKILL);
  expect_gone();
}

TEST_F(run_killed, no_process_survives_the_launcher) {
  auto& run = start();
  auto const launcher = first_child_of(run.pid());
  ASSERT_GT(launcher, 1);
  ::kill(launcher, SIGKILL);
  EXPECT_EQ(run.wait(), 128 + SIGKILL);
  for (auto const& name : left_behind()) EXPECT_FALSE(alive(number_in(name))) << name;
  EXPECT_TRUE(run.says("its launcher was killed by SIGKILL"));
}

TEST_F(run_killed, launcher_has_its_own_process_group_and_command_name) {
  auto& run = start();
  auto const launcher = first_child_of(run.pid());
  ASSERT_GT(launcher, 1);
  EXPECT_NE(::getpgid(launcher), ::getpgid(run.pid()));
  auto const proc = "/proc/" + std::to_string(launcher);
  for (auto const* file : {"/comm", "/cmdline"})
    EXPECT_EQ(read_file(proc + file).find("muster"), std::string::npos) << read_file(proc + file);
  run.signal(SIGKILL);
  expect_gone();
}

TEST_F(run_killed, stopped_launcher_ends_with_the_run) {
  auto& run = start();
  auto const launcher = first_child_of(run.pid());
  ASSERT_GT(launcher, 1);
  ::kill(launcher, SIGSTOP);
  run.signal(SIGKILL);
  expect_gone();
}

TEST_F(run_killed, kernel_kills_tasks_when_both_processes_are_killed) {
  auto& run = start();
  auto const launcher = first_child_of(run.pid());
  ASSERT_GT(launcher, 1);
  ::kill(launcher, SIGKILL);
  run.signal(SIGKILL);
  for (auto const* rank : {"0", "1"})
    EXPECT_TRUE(await([&] { return !alive(number_in(pid + "." + rank + ".task")); })) << rank;
  for (auto const& name : left_behind())  // this test must end leftover processes
    if (alive(number_in(name))) ::kill(number_in(name), SIGKILL);
}

TEST_F(run_killed, stop_by_signal_leaves_no_process) {
  auto& run = start();
  run.signal(SIGINT);
  ASSERT_TRUE(run.says("forwarded"));
  run.signal(SIGINT);
  EXPECT_TRUE(run.wait());
  for (auto const& name : left_behind()) EXPECT_FALSE(alive(number_in(name))) << name;
}

TEST(run_supervisor, signal_to_the_whole_service_counts_once) {
  cluster c;
  auto& run = c.spawn(sh({"--grace", "1h", "--no-prefix"},
                         "trap 'n=$((n+1)); sleep 1; echo saved; exit 5' TERM; echo up; "
                         "while :; do sleep 0.1; done"));
  ASSERT_TRUE(said(run, "up"));
  ::kill(first_child_of(run.pid()), SIGTERM);
  run.signal(SIGTERM);
  EXPECT_EQ(run.wait(), 5) << run.errors();
}

TEST(run_supervisor, keeps_processes_started_before_exec_alive) {
  cluster c;
  auto const exporter = c.file("exporter").string();
  auto& run =
      c.program({"/bin/sh", "-c",
                 "sleep 1000 & echo $! > " + exporter + "; exec " MUSTER_BINARY " run -- true"});
  EXPECT_EQ(run.wait(), 0) << run.errors();
  auto const pid = number_in(exporter);
  ASSERT_GT(pid, 1);
  EXPECT_TRUE(alive(pid));
  ::kill(pid, SIGKILL);
}

TEST(run_supervisor, resumes_after_suspension) {
  cluster c;
  auto& run =
      c.spawn(sh({"--no-prefix"}, "trap 'exit 6' TERM; echo up; while :; do sleep 0.1; done"));
  ASSERT_TRUE(said(run, "up"));
  auto const launcher = first_child_of(run.pid());
  run.signal(SIGTSTP);
  EXPECT_TRUE(
      await([&] { return process_state(run.pid()) == 'T' && process_state(launcher) == 'T'; }));
  run.signal(SIGCONT);
  run.signal(SIGTERM);
  EXPECT_EQ(run.wait(), 6) << run.errors();
}

}  // namespace
}  // namespace muster::e2e
