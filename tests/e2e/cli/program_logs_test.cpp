#include <gtest/gtest.h>

#include <algorithm>

#include "tests/e2e/cli/run_words.hpp"

namespace muster::e2e {
namespace {

struct program_logs : testing::Test {
  /// Returns the command line `launch FLAGS -- /bin/sh -c SCRIPT`.
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
  void start() {
    c.serve();
    c.worker({"--allow-programs"});
  }

  cluster c;
};

TEST_F(program_logs, output_of_short_attempts_is_complete) {
  start();
  auto const r = c.run(launch({"--tasks", "4", "--max-restarts", "3", "--restart-grace", "100ms"},
                              "seq -f \"attempt $MUSTER_ATTEMPT line %g\" 500; "
                              "[ $RANK != 3 ] || { echo last >&2; exit 3; }; exec sleep 1000"));
  EXPECT_EQ(r.status, 3) << r.err;
  auto const all = lines(r.out);
  for (auto const* attempt : {"1", "2", "3", "4"})
    for (auto const* line : {"1", "500"})
      EXPECT_EQ(std::count(all.begin(), all.end(),
                           std::string("rank 3 | attempt ") + attempt + " line " + line),
                1)
          << attempt << r.err;
  EXPECT_EQ(r.err.find("could not be loaded"), std::string::npos) << r.err;
}

TEST_F(program_logs, are_selected_by_rank_and_attempt) {
  start();
  auto const r = c.run(launch({"--tasks", "2", "--max-restarts", "1", "--name", "p"},
                              "echo $RANK in $MUSTER_ATTEMPT; [ $MUSTER_ATTEMPT = 2 ]"));
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(c.run(verb({"logs", "p", "--rank", "1"})).out, "rank 1 | 1 in 2\n");
  EXPECT_EQ(c.run(verb({"logs", "p", "--rank", "0", "--attempt", "1"})).out, "rank 0 | 0 in 1\n");
  EXPECT_EQ(c.run(verb({"logs", "p", "--rank", "1", "--attempt", "1", "--follow"})).out,
            "rank 1 | 1 in 1\n");
  EXPECT_EQ(lines(c.run(verb({"logs", "p", "--follow"})).out).size(), 2u);
  auto const none = c.run(verb({"logs", "p", "--attempt", "3"}));
  EXPECT_EQ(none.status, 1);
  EXPECT_NE(none.err.find("there is no attempt 3 of prog_"), std::string::npos) << none.err;
  EXPECT_EQ(c.run(verb({"logs", "p", "--rank", "2"})).status, 1);
  EXPECT_EQ(c.run(verb({"show", "p", "--rank", "1"})).status, 2);
}

TEST_F(program_logs, follow_can_start_later) {
  start();
  c.run(launch({"--tasks", "1", "--max-restarts", "1", "--name", "p", "--detach"},
               "echo attempt $MUSTER_ATTEMPT; while ! [ -e $P/go$MUSTER_ATTEMPT ]; do sleep 0.05; "
               "done; [ $MUSTER_ATTEMPT = 2 ]"));
  auto& follower = c.spawn(verb({"logs", "p", "--follow"}));
  ASSERT_TRUE(said(follower, "rank 0 | attempt 1")) << follower.errors();
  c.write("go1", "");
  ASSERT_TRUE(said(follower, "rank 0 | attempt 2")) << follower.errors();
  c.write("go2", "");
  EXPECT_EQ(follower.wait(), 0) << follower.errors();
}

TEST_F(program_logs, list_is_limited) {
  start();
  for (int i = 0; i < 3; ++i) c.run(launch({"--tasks", "1", "--detach"}, "exit 0"));
  auto const r = c.run(verb({"list", "--limit", "2"}));
  EXPECT_EQ(lines(r.out).size(), 3u) << r.out;
  EXPECT_NE(r.err.find("--limit"), std::string::npos) << r.err;
}

TEST_F(program_logs, include_ranks_that_ended_while_the_server_was_down) {
  words const kept{"--data-dir", c.file("data").string()};
  auto& server = c.serve(kept);
  c.worker({"--allow-programs"});
  c.run(launch({"--tasks", "2", "--name", "sd", "--detach"},
               "echo first; touch $P/begun$RANK; while ! [ -e $P/go ]; do sleep 0.05; done; "
               "echo last; touch $P/over$RANK"));
  auto const there = [this](char const* name) {
    return await([&] { return std::filesystem::exists(c.file(name)); });
  };
  ASSERT_TRUE(there("begun0") && there("begun1"));
  server.kill_at_once();
  c.write("go", "");
  ASSERT_TRUE(there("over0") && there("over1"));
  c.serve(kept);
  ASSERT_TRUE(await([&] {
    return c.run(verb({"show", "sd"})).out.find("SUCCEEDED") != std::string::npos;
  }));
  auto const all = lines(c.run(verb({"logs", "sd"})).out);
  for (auto const* line : {"rank 0 | first", "rank 0 | last", "rank 1 | first", "rank 1 | last"})
    EXPECT_EQ(std::count(all.begin(), all.end(), line), 1) << line;
}

}  // namespace
}  // namespace muster::e2e
