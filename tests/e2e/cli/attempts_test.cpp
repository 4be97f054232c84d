#include <gtest/gtest.h>

#include <csignal>

#include "tests/e2e/cli/run_words.hpp"

namespace muster::e2e {
namespace attempt_cases {

// Rank 0 ignores SIGTERM. Rank 1 fails once rank 0 hangs.
constexpr char script[] =
    "import os, signal, sys, time\n"
    "up = os.path.join(os.environ['UP'], 'up')\n"
    "def hangs_here():\n"
    "    print('step 7', flush=True)\n"
    "    open(up, 'w').close()\n"
    "    time.sleep(1000)\n"
    "if os.environ['RANK'] == '0':\n"
    "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "    hangs_here()\n"
    "while not os.path.exists(up): time.sleep(0.01)\n"
    "sys.exit('oops')\n";

TEST(attempts, observations_are_shown_also_after_a_server_restart) {
  cluster c;
  auto const data = c.file("data").string();
  auto& first = c.serve({"--data-dir", data});
  c.worker({"--allow-programs"});
  c.write("train.py", script);
  auto const launched =
      c.run({"launch", "--url", c.url(), "--tasks", "2", "--name", "train", "--grace", "1s",
             "--env", "UP=" + c.file("").string(), "--", "python3", c.file("train.py").string()});
  EXPECT_EQ(launched.status, 1) << launched.err;
  auto const show = [&] {
    return c.run({"programs", "show", "train", "--attempt", "1", "--url", c.url()});
  };
  auto const before = show();
  EXPECT_EQ(before.status, 0) << before.err;
  for (auto const* said :
       {"attempt  1, 2 ranks on 1 host", "end      FAILED after ",
        "stacks of killed ranks\n1 of 1 rank: rank 0 on ", "line 6 in hangs_here", "rank 1 on ",
        ": status 1\n  stderr:\n    oops\n", ": signal 9, stopped\n  stdout:\n    step 7\n"})
    EXPECT_NE(before.out.find(said), std::string::npos) << said << '\n' << before.out;
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 0);
  c.serve({"--data-dir", data});
  EXPECT_EQ(show().out, before.out);
  auto const ranks = c.run({"programs", "show", "train", "--url", c.url()}).out;
  EXPECT_NE(ranks.find("RANK  STATE"), std::string::npos) << ranks;
  EXPECT_EQ(ranks.find("TASK"), std::string::npos) << "ranks are not called tasks: " << ranks;
  auto const none = c.run({"programs", "show", "train", "--attempt", "2", "--url", c.url()});
  EXPECT_EQ(none.status, 1);
  EXPECT_NE(none.err.find("has no attempt 2"), std::string::npos) << none.err;
}

TEST(attempts, name_the_lost_worker) {
  cluster c;
  c.serve();
  auto& w = c.worker({"--allow-programs", "--program-lease", "1s"});
  ASSERT_TRUE(c.await_tasks(1));
  auto& l = c.spawn(
      {"launch", "--url", c.url(), "--tasks", "1", "--name", "train", "--", "sleep", "1000"});
  ASSERT_TRUE(l.says("RUNNING"));
  w.kill_at_once();
  EXPECT_TRUE(await([&] {
    auto const said = c.run({"programs", "show", "train", "--attempt", "1", "--url", c.url()}).out;
    return said.find("WORKER_LOST") != std::string::npos &&
           said.find("end      LOST") != std::string::npos;
  }));
}

TEST(stacks, stacks_of_a_cpp_worker_are_native) {
  cluster c;
  c.serve();
  c.worker();
  ASSERT_TRUE(c.await_tasks(1));
  auto const r = c.run({"stacks", "worker:0", "--url", c.url()});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("worker:0, process "), std::string::npos) << r.out;
  EXPECT_NE(r.out.find(", runs no closure\n"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find(" in muster::worker::runtime::run()\n"), std::string::npos) << r.out;
  auto const wrong = c.run({"stacks", "worker", "--url", c.url()});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_NE(wrong.err.find("there is no task, closure or program 'worker'"), std::string::npos)
      << wrong.err;
}

}  // namespace attempt_cases
}  // namespace muster::e2e
