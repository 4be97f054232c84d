#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

struct logs : testing::Test {
  cluster c;
  void SetUp() override {
    c.serve();
    c.worker({"--allow-exec", "--slots", "2"});
  }
  static std::string shell(std::string const& script) {
    return boost::json::serialize(boost::json::array{"sh", "-c", script});
  }
};

TEST_F(logs, follow_shows_lines_on_stderr_and_values_on_stdout) {
  auto const f = c.run({"submit", "muster.exec", shell("echo one; sleep 0.1; echo two"), "--follow",
                        "--timeout", "20s"});
  EXPECT_EQ(f.status, 0);
  EXPECT_EQ(f.err, "one\ntwo\n");
  EXPECT_EQ(f.out, R"({"exit_code":0,"stdout_tail":"one\ntwo\n","stderr_tail":""})"
                   "\n");
}

// The script ends only after its first line was seen.
TEST_F(logs, lines_are_shown_while_the_closure_runs) {
  auto const go_on = c.file("go_on").string();
  auto const submitted =
      c.run({"submit", "--no-wait", "muster.exec",
             shell("echo first; while [ ! -e " + go_on + " ]; do sleep 0.05; done")});
  auto const job = submitted.out.substr(0, submitted.out.find('\n'));
  auto const seen = c.get("/api/v1/jobs/" + job + "/logs?wait=20s");
  EXPECT_EQ(seen.at("lines").at(0).at("text"), "first");
  EXPECT_EQ(seen.at("ended"), false);
  c.write("go_on", "");
  EXPECT_EQ(c.run({"logs", job, "--follow"}).out, "first\n");
  auto const closure = boost::json::value_to<std::string>(seen.at("lines").at(0).at("closure"));
  EXPECT_EQ(c.run({"logs", closure}).out, "first\n");
}

TEST_F(logs, lines_of_several_closures_have_prefixes) {
  auto f = c.run({"submit", "muster.exec", "--map",
                  c.write("map", "[" + shell("echo a") + "]\n[" + shell("echo b >&2") + "]\n"),
                  "--follow", "--timeout", "20s", "--name", "two"});
  EXPECT_EQ(f.status, 0);
  EXPECT_NE(f.err.find("[#0 worker:0] a\n"), std::string::npos) << f.err;
  EXPECT_NE(f.err.find("[#1 worker:0] b\n"), std::string::npos) << f.err;
}

TEST_F(logs, follow_exits_with_the_status_of_the_job) {
  auto const f = c.run({"submit", "muster.fail", "no", "--follow", "--timeout", "20s"});
  EXPECT_EQ(f.status, 1);
  EXPECT_NE(f.err.find("FAILED"), std::string::npos) << f.err;
}

TEST_F(logs, follow_ends_at_its_timeout) {
  auto const f = c.run({"submit", "muster.sleep", "60000", "--follow", "--timeout", "300ms"});
  EXPECT_EQ(f.status, 1);
  EXPECT_NE(f.err.find("is still running after"), std::string::npos) << f.err;
}

TEST_F(logs, flood_keeps_the_newest_lines_and_counts_dropped_ones) {
  // More than the server keeps, but less than the 1 MiB above which a slow worker drops lines
  // itself.
  auto const f = c.run({"submit", "muster.exec", shell("seq 12000"), "--timeout", "30s"});
  ASSERT_EQ(f.status, 0) << f.err;
  auto const tail = c.run({"logs", "job_0000000000000001", "--tail", "2"});
  EXPECT_EQ(tail.out, "11999\n12000\n");
  EXPECT_NE(tail.err.find("older lines were dropped"), std::string::npos) << tail.err;
  auto const all = c.run({"logs", "job_0000000000000001"}).out;
  EXPECT_LE(std::count(all.begin(), all.end(), '\n'), 5'000);
}

TEST_F(logs, invalid_or_unknown_id_is_refused) {
  EXPECT_EQ(c.run({"logs", "x"}).status, 1);
  EXPECT_EQ(c.run({"logs", "job_0000000000000099"}).status, 1);
}

}  // namespace
}  // namespace muster::e2e
