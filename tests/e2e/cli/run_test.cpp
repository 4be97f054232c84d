#include <gtest/gtest.h>

#include <map>

#include "tests/e2e/cli/run_words.hpp"

namespace muster::e2e {
namespace {

TEST(run, first_failure_stops_the_others_and_sets_the_exit_status) {
  cluster c;
  auto const r = c.run(sh({"--nproc", "3"}, "trap 'exit 9' TERM; : > " + c.file("up").string() +
                                                ".$RANK; "
                                                "[ $RANK = 1 ] || while :; do sleep 0.1; done; "
                                                "for i in 0 2; do while [ ! -e " +
                                                c.file("up").string() +
                                                ".$i ]; do sleep 0.05; "
                                                "done; done; echo 'out of cake' >&2; exit 7"));
  EXPECT_EQ(r.status, 7) << r.err;
  EXPECT_NE(r.err.find("muster run: worker:1 failed first, "), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("after the start: exit status 7\n"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("last lines on stderr:\n    out of cake\n"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("  stopped: worker:"), std::string::npos) << r.err;
}

TEST(run, exit_status_of_a_signal_is_128_plus_its_number) {
  cluster c;
  auto const r = c.run(sh({}, "kill -SEGV $$"));
  EXPECT_EQ(r.status, 128 + SIGSEGV);
  EXPECT_NE(r.err.find("SIGSEGV"), std::string::npos) << r.err;
}

TEST(run, missing_command_has_exit_status_127) {
  cluster c;
  auto const r =
      c.run({"run", "--nproc", "2", "--max-restarts", "5", "--", "no-such-command-here"});
  EXPECT_EQ(r.status, 127);
  EXPECT_EQ(lines(r.err)[0],
            "muster run: worker:0 cannot be started: 'no-such-command-here': no such command");
  EXPECT_EQ(c.run({"run", "--", "/etc/passwd"}).status, 126);
}

TEST(run, all_tasks_restart_together_and_get_the_restart_count) {
  cluster c;
  auto const log = c.file("starts").string();
  auto const r = c.run(
      sh({"--nproc", "2", "--max-restarts", "1"}, "echo $MUSTER_RESTART_COUNT >> " + log +
                                                      ".$RANK; "
                                                      "[ $RANK = 0 ] && exec sleep 1000; "
                                                      "until grep -qx $MUSTER_RESTART_COUNT " +
                                                      log +
                                                      ".0 2>/dev/null; do sleep 0.05; "
                                                      "done; "
                                                      "exit 3"));
  EXPECT_EQ(r.status, 3) << r.err;
  EXPECT_EQ(read_file(log + ".1"), "0\n1\n");
  EXPECT_EQ(read_file(log + ".0"), "0\n1\n")
      << "the other task was restarted without having failed";
  EXPECT_NE(r.err.find("(1 of 1 restarts)"), std::string::npos) << r.err;
}

TEST(run, cluster_is_resolved_again_at_each_restart) {
  cluster c;
  auto const file = c.write("cluster.json", R"({"worker": ["a:1", "b:1"]})").string();
  auto const r =
      c.run(sh({"--cluster-file", file, "--task", "worker:1", "--max-restarts", "2", "--no-prefix"},
               "echo $JAX_COORDINATOR_ADDRESS; case $MUSTER_RESTART_COUNT in "
               "0) echo '{\"worker\": [\"c:1\", \"b:1\"]}' > " +
                   file +
                   "; exit 1;; "
                   "1) echo '{\"worker\": [\"d:1\"]}' > " +
                   file + "; exit 1;; esac"));
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out, "a:1\nc:1\nc:1\n");
  EXPECT_NE(r.err.find("muster run: the cluster was not changed: "), std::string::npos) << r.err;
}

TEST(run, restart_requested_by_exit_status_is_not_counted) {
  cluster c;
  auto const r = c.run(sh({"--no-prefix"},
                          "echo $MUSTER_RESTART_COUNT; "
                          "[ $MUSTER_RESTART_COUNT = 2 ] && exit 4; exit 75"),
                       {}, {{"TF_CLIENT_NON_FATAL_RESTART_EXIT_CODE", "75"}});
  EXPECT_EQ(r.status, 4) << r.err;
  EXPECT_EQ(r.out, "0\n1\n2\n");
}

TEST(run, lines_stay_whole_and_complete) {
  cluster c;
  auto const r = c.run(sh({"--nproc", "4", "--output-dir", c.file("out")},
                          "seq -f %030.0f 100000; seq 1000 >&2; printf 'no newline'"));
  ASSERT_EQ(r.status, 0);
  std::map<std::string, int> next;
  for (auto const& line : lines(r.out)) {
    auto const name = line.substr(0, line.find(" | "));
    auto const text = line.substr(name.size() + 3);
    if (text == "no newline") continue;
    ASSERT_EQ(std::stoi(text), ++next[name]) << line;
    ASSERT_EQ(text.size(), 30u);
  }
  EXPECT_EQ(next, (std::map<std::string, int>{{"worker:0", 100'000},
                                              {"worker:1", 100'000},
                                              {"worker:2", 100'000},
                                              {"worker:3", 100'000}}));
  EXPECT_EQ(lines(r.err).size(), 4'000u);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(lines(read_file(c.file("out") / ("worker-" + std::to_string(i) + ".log"))).size(),
              101'001u);
}

TEST(run, endless_line_is_printed_in_pieces) {
  cluster c;
  auto const r = c.run(sh({"--no-prefix"}, "head -c 200000 /dev/zero | tr '\\0' x"));
  ASSERT_EQ(r.status, 0);
  auto const pieces = lines(r.out);
  ASSERT_EQ(pieces.size(), 4u);
  EXPECT_EQ(pieces[0].size(), 65'536u);
  EXPECT_EQ(pieces[3].size(), 200'000u - 3 * 65'536u);
}

TEST(run, unwritable_output_directory_is_refused_at_the_start) {
  cluster c;
  auto const r = c.run(sh({"--output-dir", c.write("file", "")}, "echo ran"));
  EXPECT_NE(r.status, 0);
  EXPECT_NE(r.err.find("--output-dir"), std::string::npos) << r.err;
  EXPECT_EQ(r.out, "");
}

TEST(run, reports_unwritable_output_once) {
  cluster c;
  std::filesystem::create_directory(c.file("out"));
  std::filesystem::create_symlink("/dev/full", c.file("out") / "worker-0.log");
  auto const r =
      c.run(sh({"--output-dir", c.file("out"), "--no-prefix"}, "seq 1000; sleep 0.3; seq 1000"));
  EXPECT_EQ(r.status, 0) << "the run continues";
  EXPECT_EQ(lines(r.out).size(), 2'000u);
  EXPECT_EQ(lines(r.err).size(), 1u) << r.err;
  EXPECT_NE(r.err.find("worker-0.log: No space left on device"), std::string::npos) << r.err;
}

}  // namespace
}  // namespace muster::e2e
