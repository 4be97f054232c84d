// Tasks whose exit ends a run. In TensorFlow's parameter-server jobs, the servers never exit.
#include <gtest/gtest.h>

#include "tests/e2e/cli/run_words.hpp"

namespace muster::e2e {
namespace {

constexpr char job[] = R"({"chief": ["127.0.0.1:2001"], "worker": ["127.0.0.1:2002",
  "127.0.0.1:2003"], "ps": ["127.0.0.1:2004"], "evaluator": ["127.0.0.1:2005"]})";

// As with tf.distribute.Server(...).join(), workers and ps never return. The chief waits for them.
std::string servers(cluster const& c, std::string const& chief) {
  auto const up = c.file("up").string();
  return "case $MUSTER_TASK_TYPE in worker|ps) : > " + up +
         ".$MUSTER_TASK_TYPE$MUSTER_TASK_INDEX; exec sleep 1000;; esac; "
         "for t in worker0 worker1 ps0; do until [ -e " +
         up + ".$t ]; do sleep 0.05; done; done; [ $MUSTER_TASK_TYPE = evaluator ] || { " + chief +
         "; }";
}

TEST(run_ends, when_the_chief_ends_even_if_workers_never_exit) {
  cluster c;
  auto const r = c.run(sh({"--cluster-file", c.write("job.json", job), "--ends-with", "chief",
                           "--ends-with", "evaluator"},
                          servers(c, "echo trained")));
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out, "chief:0 | trained\n");
}

TEST(run_ends, with_the_chosen_task) {
  cluster c;
  auto const r =
      c.run(sh({"--nproc", "3", "--ends-with", "worker:1"}, "[ $RANK = 1 ] || exec sleep 1000"));
  EXPECT_EQ(r.status, 0) << r.err;
}

TEST(run_ends, at_once_when_any_other_task_fails) {
  cluster c;
  auto const r = c.run(
      sh({"--nproc", "2", "--ends-with", "worker:0"}, "[ $RANK = 1 ] && exit 5; exec sleep 1000"));
  EXPECT_EQ(r.status, 5) << r.err;
}

TEST(run_ends, unknown_task_is_named) {
  cluster c;
  auto const r = c.run(sh({"--nproc", "2", "--ends-with", "worker:0,chief"}, "true"));
  EXPECT_EQ(r.status, 2);
  EXPECT_NE(
      r.err.find(
          "--ends-with chief: the cluster has no such task; its tasks are worker:0, worker:1"),
      std::string::npos)
      << r.err;
}

TEST(run_ends, names_tasks_that_outlast_the_chief) {
  cluster c;
  auto& run = c.spawn(sh({"--cluster-file", c.write("job.json", job)}, servers(c, "echo trained")));
  EXPECT_TRUE(run.says("the chief has exited, but worker:0 is still running"));
  EXPECT_TRUE(run.running()) << "a trainer can end after its chief";
  run.signal(SIGTERM);
  EXPECT_TRUE(run.wait());
}

// Each task has its own `muster run`, so a worker's failure does not end the chief.
TEST(run_ends, each_task_separately_with_one_run_per_task) {
  cluster c;
  auto const file = c.write("job.json", R"({"chief": ["127.0.0.1:2001"],
    "worker": ["127.0.0.1:2002"], "ps": ["127.0.0.1:2004"]})");
  auto const died = c.file("died").string();
  auto const one = [&](std::string const& task, words flags,
                       std::string const& script) -> process& {
    flags.insert(flags.end(), {"--cluster-file", file, "--task", task, "--mode",
                               "independent-worker", "--no-prefix"});
    return c.spawn(sh(flags, script), {{"TF_CLIENT_NON_FATAL_RESTART_EXIT_CODE", "42"}});
  };
  auto& ps = one("ps:0", {"--max-restarts", "1"},
                 "[ $MUSTER_RESTART_COUNT = 1 ] && { echo again; exec sleep 1000; }; : > " + died +
                     "; kill -9 $$");
  auto& chief = one("chief:0", {},
                    "[ $MUSTER_RESTART_COUNT = 1 ] && exit 0; until [ -e " + died +
                        " ]; do sleep 0.05; done; exit 42");
  EXPECT_EQ(chief.wait(), 0) << chief.errors();
  EXPECT_TRUE(chief.says("which does not count as a restart"));
  EXPECT_TRUE(said(ps, "again"));
  ps.signal(SIGTERM);
  EXPECT_EQ(ps.wait(), 128 + SIGTERM);
}

// MultiWorkerMirroredStrategy uses the first `ps` as its coordination service. Here that address is
// the server's, and only workers are started.
TEST(run_ends, server_as_ps_is_passed_to_workers_and_not_started) {
  cluster c;
  c.serve({"--cluster", "training:worker=2"});
  auto const file = c.write("training.json", R"({"worker": ["127.0.0.1:5001", "127.0.0.1:5002"],
    "ps": [")" + c.grpc() + R"("]})");
  for (auto const* task : {"worker:0", "worker:1"}) {
    auto const r = c.run(sh({"--cluster-file", file, "--task", task, "--no-prefix"},
                            "echo $TF_CONFIG; echo $MUSTER_TASK_TYPE:$MUSTER_TASK_INDEX"));
    EXPECT_EQ(r.status, 0) << r.err;
    auto const told = lines(r.out);
    ASSERT_EQ(told.size(), 2u) << r.out;
    EXPECT_EQ(boost::json::parse(told[0]).at_pointer("/cluster/ps/0").as_string(), c.grpc());
    EXPECT_EQ(told[1], task);
  }
}

}  // namespace
}  // namespace muster::e2e
