#include <gtest/gtest.h>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

namespace json = boost::json;

struct prefetch : testing::Test {
  /// Opens a worker's window by quick answers.
  void warm() {
    std::string lines;
    for (int i = 0; i < 400; ++i) lines += "[]\n";
    auto const input = c.write("warm", lines);
    EXPECT_EQ(c.run({"submit", "muster.noop", "--map", "-", "--timeout", "60s"}, input).status, 0);
  }
  /// Submits one long and five short steps, all sent to a worker of one slot with an open window.
  std::string long_one_first() {
    c.serve();
    c.worker({"--index", "0", "--slots", "1", "--credits", "16"});
    warm();
    auto const job = c.post("/api/v1/jobs", R"({"closures":[
        {"function":"muster.sleep","args":["20s"]},
        {"function":"muster.sleep","args":["5ms"]},{"function":"muster.sleep","args":["5ms"]},
        {"function":"muster.sleep","args":["5ms"]},{"function":"muster.sleep","args":["5ms"]},
        {"function":"muster.sleep","args":["5ms"]}]})");
    return json::value_to<std::string>(job.at("id"));
  }
  json::array closures(std::string const& job) {
    return c.get("/api/v1/jobs/" + job + "/closures").at("closures").as_array();
  }

  cluster c;
};

TEST_F(prefetch, no_closure_waits_behind_a_long_one_while_a_worker_is_idle) {
  auto const job = long_one_first();
  ASSERT_TRUE(await([&] { return closures(job)[0].at("state") == "RUNNING"; }));
  for (auto const& v : closures(job)) {
    if (v.at("index") == 0) continue;
    EXPECT_EQ(v.at("state"), "QUEUED");
    EXPECT_EQ(v.at("sent_to"), "worker:0");
  }
  auto const task = c.tasks().at(0);
  EXPECT_EQ(task.at("running"), 1);
  EXPECT_EQ(task.at("sent_ahead"), 5);

  c.worker({"--index", "1", "--slots", "1", "--credits", "16"});
  ASSERT_TRUE(c.await_count(job, "succeeded", 5)) << json::serialize(closures(job));
  for (auto const& v : closures(job)) {
    EXPECT_EQ(v.at("state"), v.at("index") == 0 ? "RUNNING" : "SUCCEEDED");
    ASSERT_EQ(v.at("attempts").as_array().size(), 1u);
    EXPECT_EQ(v.at("attempts").at(0).at("worker"), v.at("index") == 0 ? "worker:0" : "worker:1");
  }
}

TEST_F(prefetch, durations_exclude_the_wait_in_the_worker) {
  c.serve();
  c.worker({"--slots", "1", "--credits", "16"});
  warm();
  auto const made = c.post("/api/v1/jobs", R"({"closures":[
      {"function":"muster.sleep","args":["300ms"]},{"function":"muster.sleep","args":["300ms"]},
      {"function":"muster.sleep","args":["300ms"]},{"function":"muster.sleep","args":["300ms"]}]})");
  auto const job = json::value_to<std::string>(made.at("id"));
  c.get("/api/v1/jobs/" + job + "/join?timeout=60s");
  std::int64_t before = 0;
  for (auto const& v : closures(job)) {
    auto const& a = v.at("attempts").at(0);
    auto const began = a.at("started_ms").to_number<std::int64_t>();
    auto const took = a.at("ended_ms").to_number<std::int64_t>() - began;
    EXPECT_GE(took, 299);
    EXPECT_LT(took, 600) << "the 300 ms of those before it are not its own";
    EXPECT_GE(began, before);
    before = began + 200;  // an answer includes the time at which its closure began
  }
}

}  // namespace
}  // namespace muster::e2e
