#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/e2e/cli/run_words.hpp"

namespace muster::e2e {
namespace postmortem_cases {

bool has(std::string const& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(postmortem, failed_program_gives_a_private_file_that_begins_with_the_cause) {
  cluster c;
  c.serve();
  c.worker({"--allow-programs", "--index", "0"});
  c.worker({"--allow-programs", "--index", "1"});
  ASSERT_TRUE(c.await_tasks(2));
  auto const launched =
      c.run({"launch", "--url", c.url(), "--tasks", "2", "--name", "train", "--max-restarts", "1",
             "--env", "SECRET=not-to-be-seen", "--", "sh", "-c",
             "echo attempt $MUSTER_ATTEMPT; [ $RANK = 1 ] || exec sleep 1000; "
             "echo '</style><script>alert(1)</script> is no column' >&2; exit 3"});
  EXPECT_EQ(launched.status, 3) << launched.err;
  auto const file = c.file("train.html");
  auto const r = c.run({"postmortem", "train", "-o", file.string(), "--url", c.url()});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_TRUE(has(r.err, ", readable only by you")) << r.err;
  auto const page = read_file(file);
  struct stat there {};
  EXPECT_EQ(::stat(file.c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 0777, 0600u);
  for (auto const* part : {"<b>train</b> has failed at ", "rank 1 on ",
                           " ended with exit status 3, with the last line", "<b>Attempt 1</b>, ",
                           "<b>Attempt 2</b>, ", "attempt 2", "SECRET", "program_failed",
                           "&lt;/style&gt;&lt;script&gt;alert(1)&lt;/script&gt; is no column"})
    EXPECT_TRUE(has(page, part)) << part;
  EXPECT_FALSE(has(page, "<script"));
  EXPECT_FALSE(has(page, "not-to-be-seen"));

  auto const wrong = [&](words all, int status, std::string_view why) {
    all.insert(all.begin(), "postmortem");
    all.insert(all.end(), {"--url", c.url()});
    auto const w = c.run(all);
    EXPECT_EQ(w.status, status) << why;
    EXPECT_TRUE(has(w.err, why)) << w.err;
  };
  wrong({"nobody", "-o", "-"}, 1, "there is no program and no job 'nobody'");
  wrong({"default/9", "-o", "-"}, 1, "cluster 'default' has no run 9");
  wrong({"train", "-o", "-", "--job"}, 1, "there is no job 'train'");
  wrong({"train", "-o", "-", "--job", "--program"}, 2, "--program excludes --job");
  wrong({"train", "-o", c.file("none/x").string()}, 1, "none/x: No such file or directory");
  wrong({"train", "-o", "/dev/null"}, 1, "it is not a regular file");
  c.post("/api/v1/jobs", R"({"name":"train","closures":[{"function":"muster.noop"}]})");
  wrong({"train", "-o", "-"}, 2, "choose one with --program or --job");
  auto const away = c.run({"postmortem", "train", "-o", "-", "--url", "http://127.0.0.1:1"});
  EXPECT_EQ(away.status, 3);
  EXPECT_TRUE(has(away.err, "no server answers")) << away.err;
}

TEST(postmortem, failed_job_report_has_failures_workers_and_output) {
  cluster c;
  c.serve();
  c.worker({"--allow-exec"});
  ASSERT_TRUE(c.await_tasks(1));
  auto const submit = [&] {
    return c.post("/api/v1/jobs",
                  R"({"name":"nightly","on_error":"continue","closures":[)"
                  R"({"function":"muster.echo","args":["not-to-be-seen"]},)"
                  R"({"function":"muster.fail","args":["no such column"]},)"
                  R"({"function":"muster.echo","args":[{"$remote_value":"#1"}]}]})");
  };
  submit();
  auto const id = std::string(submit().at("id").as_string());
  ASSERT_TRUE(await([&] { return c.get("/api/v1/jobs/" + id).at("state") == "FAILED"; }));
  auto const r = c.run({"postmortem", "nightly", "-o", "-", "--url", c.url()});
  EXPECT_EQ(r.status, 0) << r.err;
  for (auto const* part :
       {"<b>nightly</b> has failed at ", "closure 1, <b>muster.fail</b>, failed on worker:0 (host ",
        "no such column”</b>; of 3 closures 1 succeeded, 2 failed and 0 were cancelled.",
        "It is the newest of 2 jobs with this name", "INPUT", "job_failed", "<path class=f "})
    EXPECT_TRUE(has(r.out, part)) << part << r.out;
  EXPECT_TRUE(has(r.out, id));
  EXPECT_FALSE(has(r.out, "not-to-be-seen"));
  EXPECT_TRUE(r.out.ends_with("</html>\n"));
}

}  // namespace postmortem_cases
}  // namespace muster::e2e
