#include <gtest/gtest.h>

#include "tests/e2e/cli/run_words.hpp"

namespace muster::e2e {
namespace {

struct history_commands : testing::Test {
  cluster c;

  history_commands() { c.serve({"--data-dir", c.file("data").string()}); }
  finished run(words w) {
    w.insert(w.end(), {"--url", c.url()});
    return c.run(w);
  }
  bool says(words const& w, std::string const& text) {
    return await([&] { return run(w).out.find(text) != std::string::npos; });
  }
};

TEST_F(history_commands, show_a_past_time_and_search_lines) {
  c.worker({"--allow-exec"});
  auto const job = c.post("/api/v1/jobs", R"({"name":"past","closures":[
        {"function":"muster.exec","args":[["echo","the loss is NaN"]]}]})")
                       .at("id")
                       .as_string();
  ASSERT_TRUE(c.await_count(std::string(job), "succeeded", 1));
  EXPECT_TRUE(says({"jobs", "--from", "1h"}, "past"));
  EXPECT_TRUE(says({"logs", "search", "the loss is nan", "-i"}, "the loss is NaN"));
  EXPECT_TRUE(says({"logs", "search", "NaN", "--job", std::string(job)}, std::string(job)));
  EXPECT_TRUE(says({"events", "--from", "1h"}, "worker"));
  EXPECT_TRUE(says({"history", "--from", "1h"}, "muster.exec"));
  EXPECT_TRUE(says({"history", "--output", "json"}, "\"stream\""));
  auto const none = run({"logs", "search", "the loss is nan"});
  EXPECT_EQ(none.status, 1);
  EXPECT_EQ(none.out, "");
  EXPECT_EQ(run({"events", "--to", "2000-01-01T00:00Z"}).out, "");
  EXPECT_NE(run({"clusters", "runs", "default"}).out.find("BECAUSE"), std::string::npos);
}

TEST_F(history_commands, invalid_time_or_search_is_reported) {
  auto const said = [&](words const& w) {
    auto const r = run(w);
    EXPECT_NE(r.status, 0);
    return r.err;
  };
  EXPECT_NE(said({"events", "--from", "soon"}).find("--from 'soon'"), std::string::npos);
  EXPECT_NE(said({"events", "--from", "1h", "--follow"}).find("exclude"), std::string::npos);
  EXPECT_NE(said({"jobs", "--from", "1h", "--to", "2h"}).find("to_ms"), std::string::npos);
  EXPECT_NE(said({"logs", "search"}).find("exactly one text"), std::string::npos);
  EXPECT_NE(said({"logs", "job_1", "job_2"}).find("one id"), std::string::npos);
  EXPECT_NE(said({"logs", "search", std::string(257, 'x')}).find("256"), std::string::npos);
}

// The second attempt succeeds. The second program has other requirements.
TEST_F(history_commands, search_output_of_ranks_and_compare_programs) {
  c.worker({"--allow-programs"});
  auto const launch = [&](words flags, std::string const& script) {
    flags.insert(flags.begin(), "launch");
    flags.insert(flags.end(), {"--url", c.url(), "--", "/bin/sh", "-c", script});
    return c.run(flags).status;
  };
  EXPECT_EQ(launch({"--tasks", "2", "--name", "train", "--max-restarts", "1"},
                   "echo rank $RANK has NaN in $MUSTER_ATTEMPT; [ $MUSTER_ATTEMPT = 2 ] || exit 4"),
            0);
  EXPECT_EQ(launch({"--tasks", "1", "--name", "other"}, "true"), 0);
  auto const found = run({"logs", "search", "NaN", "--program", "train"});
  EXPECT_NE(found.out.find("[rank 0] rank 0 has NaN in 2"), std::string::npos) << found.out;
  EXPECT_NE(found.out.find("[rank 1] rank 1 has NaN in 2"), std::string::npos) << found.out;
  auto const one =
      run({"logs", "search", "nan", "-i", "--program", "train", "--rank", "1", "--attempt", "1"});
  EXPECT_EQ(one.out, "[rank 1] rank 1 has NaN in 1\n");

  auto const both = run({"programs", "compare", "train", "other"});
  EXPECT_EQ(both.status, 0) << both.err;
  for (auto const* word : {"lasted", "-50 %", "settings that differ", "max_restarts", "\"train\""})
    EXPECT_NE(both.out.find(word), std::string::npos) << word << "\n" << both.out;
  auto const much = "true " + std::string(200, 'x') + " --rate 0.";
  EXPECT_EQ(launch({"--tasks", "1", "--name", "slow"}, much + "1"), 0);
  EXPECT_EQ(launch({"--tasks", "1", "--name", "fast"}, much + "25"), 0);
  auto const near = run({"programs", "compare", "slow", "fast"});
  for (auto const* word : {"xx --rate 0.1\"]", "xx --rate 0.25\"]"})
    EXPECT_NE(near.out.find(word), std::string::npos) << word << "\n" << near.out;
  auto const attempts = run({"programs", "compare", "train#1", "train#2"});
  EXPECT_NE(attempts.out.find("no setting differs"), std::string::npos) << attempts.out;
  EXPECT_NE(attempts.out.find("status 4"), std::string::npos) << attempts.out;
  auto const json = run({"programs", "compare", "train", "other", "--output", "json"});
  EXPECT_NE(json.out.find("\"settings\":[{"), std::string::npos) << json.out;
  EXPECT_NE(run({"programs", "compare", "train#7", "train"}).err.find("no attempt '7'"),
            std::string::npos);
}

}  // namespace
}  // namespace muster::e2e
