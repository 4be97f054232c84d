#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

std::string first_word(std::string const& text) {
  return text.substr(0, text.find_first_of(" \n"));
}

TEST(cordon, cordoned_worker_gets_no_new_closures_until_uncordoned) {
  cluster c;
  c.serve();
  c.worker({"--index", "0"});
  ASSERT_TRUE(c.await_tasks(1));
  auto const f = c.run({"cordon", "worker:0"});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_EQ(f.out, "worker:0 is cordoned: it receives no new closures until it is uncordoned\n");
  EXPECT_NE(c.run({"tasks"}).out.find("cordoned"), std::string::npos);
  auto const job = first_word(c.run({"submit", "muster.echo", "1", "--no-wait"}).out);
  EXPECT_NE(c.run({"explain", job}).out.find("1 is cordoned"), std::string::npos);
  EXPECT_NE(c.run({"events"}).out.find("was cordoned"), std::string::npos);
  EXPECT_EQ(c.run({"uncordon", "worker:0"}).status, 0);
  auto const value = c.run({"fetch", job, "--timeout", "20s"});
  EXPECT_EQ(value.status, 0) << value.err;
  EXPECT_EQ(value.out, "1\n");
}

TEST(cordon, survives_a_restart_of_the_worker) {
  cluster c;
  c.serve();
  auto& first = c.worker({"--index", "0"});
  ASSERT_TRUE(c.await_tasks(1));
  EXPECT_EQ(c.run({"cordon", "worker:0"}).status, 0);
  first.signal(SIGTERM);
  ASSERT_TRUE(c.await_tasks(1, "DISCONNECTED"));
  c.worker({"--index", "0"});
  ASSERT_TRUE(c.await_tasks(1));
  EXPECT_EQ(c.tasks().at(0).at("cordoned"), boost::json::value(true));
}

TEST(drain, lets_a_worker_leave) {
  cluster c;
  c.serve();
  c.worker({"--index", "0"});
  ASSERT_TRUE(c.await_tasks(1));
  auto const f = c.run({"drain", "worker:0"});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_TRUE(c.await_tasks(1, "DISCONNECTED"));
}

TEST(drain, unfinished_calls_are_returned_after_the_drain_timeout) {
  cluster c;
  c.serve();
  auto& worker = c.worker({"--slots", "1", "--drain-timeout", "200ms"});
  ASSERT_TRUE(c.await_tasks(1));
  auto const id = first_line(c.run({"submit", "muster.sleep", "60000", "--no-wait"}).out);
  ASSERT_TRUE(c.await_count(id, "running", 1));
  EXPECT_EQ(c.run({"drain", "worker:0"}).status, 0);
  EXPECT_EQ(worker.wait(10s), 0);
  EXPECT_TRUE(c.await_count(id, "queued", 1));
}

TEST(orders, unknown_task_is_refused) {
  cluster c;
  c.serve();
  EXPECT_EQ(c.run({"cordon", "worker"}).status, 1);
  EXPECT_EQ(c.run({"cordon", "worker:x"}).status, 1);
  auto const f = c.run({"drain", "worker:7"});
  EXPECT_EQ(f.status, 1);
  EXPECT_NE(f.err.find("no task worker:7"), std::string::npos) << f.err;
}

TEST(retry, failed_closures_run_again_as_a_new_job) {
  cluster c;
  c.serve();
  c.worker();
  auto const job = first_word(c.run({"submit", "muster.fail", "broken", "--no-wait"}).out);
  EXPECT_EQ(c.run({"fetch", job, "--timeout", "20s"}).status, 1);
  auto const f = c.run({"retry", job, "--name", "again"});
  EXPECT_EQ(f.status, 0) << f.err;
  auto const fresh = first_word(f.out);
  EXPECT_TRUE(fresh.starts_with("job_")) << f.out;
  auto const v = c.get("/api/v1/jobs/" + fresh);
  EXPECT_EQ(v.at("retry_of"), boost::json::value(job));
  EXPECT_EQ(v.at("name"), "again");
  auto const refused = c.run({"retry", "job_00000000000000ff"});
  EXPECT_EQ(refused.status, 1);
}

TEST(retry, continues_with_the_other_jobs_when_one_cannot_be_retried) {
  cluster c;
  c.serve();
  c.worker();
  auto const submit = [&c](std::string const& function) {
    auto const job = first_word(c.run({"submit", function, "x", "--no-wait"}).out);
    c.run({"fetch", job, "--timeout", "20s"});
    return job;
  };
  auto const first = submit("muster.fail"), good = submit("muster.echo"),
             last = submit("muster.fail");
  auto const f = c.run({"retry", first, good, last});
  EXPECT_EQ(f.status, 1);
  EXPECT_EQ(std::count(f.out.begin(), f.out.end(), '\n'), 2) << f.out;
  EXPECT_NE(f.err.find(good + " was not retried: "), std::string::npos) << f.err;
  EXPECT_NE(f.err.find("1 of 3 jobs were not retried"), std::string::npos) << f.err;
}

}  // namespace
}  // namespace muster::e2e
