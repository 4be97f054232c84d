// Programs on a cluster: the server, its workers and the command line as processes.
#include <gtest/gtest.h>

#include <csignal>

#include "tests/e2e/cli/run_words.hpp"

namespace muster::e2e {
namespace {

struct programs : testing::Test {
  programs() { c.serve(); }

  process& worker(words flags = {}) {
    flags.push_back("--allow-programs");
    return c.worker(flags);
  }
  /// launch FLAGS -- /bin/sh -c SCRIPT
  words launch(words flags, std::string const& script) const {
    flags.insert(flags.begin(), "launch");
    flags.insert(flags.end(), {"--url", c.url(), "--", "/bin/sh", "-c",
                               "P=" + c.file("").string() + "; " + script});
    return flags;
  }
  words verb(words flags) const {
    flags.insert(flags.begin(), "programs");
    flags.insert(flags.end(), {"--url", c.url()});
    return flags;
  }
  pid_t pid_in(std::string const& name) {
    EXPECT_TRUE(await([&] { return number_in(c.file(name)) != 0; })) << name;
    return number_in(c.file(name));
  }
  static bool gone(pid_t pid) {
    return await([&] { return !alive(pid); });
  }

  cluster c;
};

TEST_F(programs, run_on_workers_and_print_with_the_rank_in_front) {
  worker();
  auto const r = c.run(launch({"--tasks", "3", "--name", "hello"},
                              "echo $RANK of $WORLD_SIZE in $MUSTER_PROGRAM $MUSTER_ATTEMPT; "
                              "[ -z \"$MUSTER_TOKEN\" ]"));
  EXPECT_EQ(r.status, 0) << r.err;
  for (auto const* rank : {"0", "1", "2"})
    EXPECT_NE(r.out.find(std::string("worker:") + rank + " | " + rank + " of 3 in hello 1\n"),
              std::string::npos)
        << r.out << r.err;
}

TEST_F(programs, end_with_the_status_of_the_first_that_failed) {
  worker();
  auto const r = c.run(
      launch({"--tasks", "3"}, "[ $RANK != 1 ] || { echo oops >&2; exit 3; }; exec sleep 1000"));
  EXPECT_EQ(r.status, 3) << r.err;
  EXPECT_NE(r.err.find("worker:1"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("oops"), std::string::npos) << r.err;
}

TEST_F(programs, start_again_after_a_failure) {
  worker();
  auto const r =
      c.run(launch({"--tasks", "2", "--max-restarts", "1"},
                   "[ $MUSTER_ATTEMPT = 2 ] || exit 4; echo again $MUSTER_RESTART_COUNT"));
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("worker:1 | again 1"), std::string::npos) << r.out << r.err;
}

TEST_F(programs, pass_ctrl_c_on_as_a_stop) {
  worker();
  auto& l = c.spawn(launch({"--tasks", "1"},
                           "trap 'echo told; exit 0' TERM; echo up; while :; do sleep 0.05; done"));
  ASSERT_TRUE(said(l, "worker:0 | up")) << l.errors();
  l.signal(SIGINT);
  EXPECT_EQ(l.wait(), 0) << l.errors();
  EXPECT_NE(l.output().find("worker:0 | told"), std::string::npos) << l.output() << l.errors();
}

TEST_F(programs, are_listed_shown_and_cancelled_by_name) {
  worker();
  auto const id = first_line(
      c.run(launch({"--tasks", "2", "--name", "long", "--detach"}, "exec sleep 1000")).out);
  ASSERT_TRUE(
      await([&] { return c.run(verb({"list"})).out.find("RUNNING") != std::string::npos; }));
  auto const list = c.run(verb({})).out;
  EXPECT_NE(list.find(id), std::string::npos) << list;
  EXPECT_NE(list.find("2 of 2"), std::string::npos) << list;
  auto const shown = c.run(verb({"show", "long"})).out;
  EXPECT_NE(shown.find("worker:1"), std::string::npos) << shown;
  EXPECT_EQ(c.run(verb({"cancel", "long"})).status, 0);
  EXPECT_TRUE(await([&] {
    return c.run(verb({"show", id})).out.find("CANCELLED") != std::string::npos;
  }));
  EXPECT_EQ(c.run(verb({"show", "another"})).status, 1);
}

// What a rank leaves in a session of its own goes with it, too.
constexpr char leaves_a_session[] =
    "setsid sh -c 'echo $$ > $0/session; exec sleep 1000' $P & echo $$ > $P/rank; "
    "trap '' TERM; while :; do sleep 0.1; done";

TEST_F(programs, leave_nothing_behind_when_their_worker_is_killed) {
  auto& w = worker();
  c.run(launch({"--tasks", "1", "--detach"}, leaves_a_session));
  auto const rank = pid_in("rank"), session = pid_in("session");
  w.kill_at_once();
  EXPECT_TRUE(gone(rank));
  EXPECT_TRUE(gone(session));
}

TEST_F(programs, leave_nothing_behind_when_their_launcher_is_killed) {
  auto& w = worker();
  auto& l = c.spawn(launch({"--tasks", "1"}, leaves_a_session));
  auto const rank = pid_in("rank"), session = pid_in("session");
  ::kill(first_child_of(first_child_of(w.pid())), SIGKILL);  // below its guardian
  EXPECT_TRUE(gone(rank));
  EXPECT_TRUE(gone(session));
  EXPECT_EQ(l.wait(), 128 + SIGKILL) << l.errors();
  EXPECT_TRUE(w.running());
}

TEST_F(programs, go_on_elsewhere_when_the_lease_of_their_worker_has_run_out) {
  auto& w = worker({"--program-lease", "1s", "--index", "0"});
  auto& l = c.spawn(launch({"--tasks", "1", "--max-restarts", "1"},
                           "[ $MUSTER_ATTEMPT = 1 ] || { echo again; exit 0; }; "
                           "echo $$ > $P/rank; exec sleep 1000"));
  auto const rank = pid_in("rank");
  worker({"--index", "1"});
  ASSERT_TRUE(c.await_tasks(2));
  w.signal(SIGSTOP);  // it hangs: its launcher has the lease
  EXPECT_TRUE(gone(rank));
  EXPECT_EQ(l.wait(), 0) << l.errors();
  EXPECT_NE(l.output().find("again"), std::string::npos) << l.errors();
  w.signal(SIGCONT);
}

}  // namespace
}  // namespace muster::e2e
